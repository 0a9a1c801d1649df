// Adding a fact, taking one away, and undoing either. A new name makes a new entity.

import * as api from "./api.js";
import { Combobox, isCalled } from "./combobox.js";
import { button, el, factLine, sentence, shown } from "./dom.js";

const KEPT = 4; // changes of this visit that can be undone

export class Edit {
  /**
   * `onChanged(fact, kind, isIntroduction)` after a write; kind is "added" or "removed". `own` is told of each write
   * before it happens and after.
   */
  constructor(root, { onChanged, own }) {
    Object.assign(this, { root, onChanged, own, changes: [], relations: [], dirty: false, introducing: null });
  }

  /** Without the right to write there is a sentence in place of the form. */
  begin(graph) {
    this.writes = graph.writes;
    if (!graph.writes) {
      this.root.replaceChildren(el("p", { class: "caption" },
        "This server is read-only. To change facts here, start it with a token in ", el("code", {}, "HMEM_TOKEN"),
        ", or on this machine with ", el("code", {}, "hmem serve --allow-writes"), "."));
      return;
    }
    this.hint = el("p", { class: "caption", id: "edit-hint", role: "status" });
    this.log = el("ul", { class: "changes", "aria-live": "polite" });
    this.root.replaceChildren(this.form(), this.hint, this.log);
    this.showChanges();
  }

  form() {
    const field = (id, label, list) => {
      const input = el("input", { id, type: "text", required: true, list, autocomplete: "off", spellcheck: "false" });
      input.addEventListener("input", () => {
        this.dirty = true;
        this.say("");
      });
      return [input, el("span", { class: "field" }, el("label", { for: id }, label), input)];
    };
    const [head, headField] = field("edit-head", "Head");
    const [relation, relationField] = field("edit-relation", "Relation", "edit-relations");
    const [tail, tailField] = field("edit-tail", "Tail");
    Object.assign(this, { head, relation, tail, exists: Object.create(null), exact: new Map() });
    this.names = el("datalist", { id: "edit-relations" });
    this.nameRelations();
    for (const input of [head, tail]) {
      new Combobox(input, {
        onTake: (name) => {
          this.put(input, name);
          this.exists[name] = true;
          this.foresee();
        },
        onType: (text, found) => {
          this.exists[text] ||= found.some((entity) => isCalled(entity, text)); // it may have been added meanwhile
          this.foresee();
        },
      });
    }
    relation.addEventListener("input", () => this.foresee());
    this.button = el("button", { type: "submit", class: "strong", id: "edit-add" }, "Add");
    return el("form", { class: "adding", id: "adding", onsubmit: (event) => this.submit(event) },
      headField, relationField, tailField, this.button, this.names);
  }

  /** The names of the relations, some of which have come since. */
  setRelations(relations) {
    this.relations = [...new Set(relations)];
    if (this.writes) this.nameRelations();
  }

  nameRelations() {
    this.names.replaceChildren(...this.relations.map((name) => el("option", { value: inLine(name) })));
  }

  /** Begin a fact about the entity on the page, unless one is being written. */
  suggest({ entity, relation, direction }) {
    if (!this.writes || (this.dirty && this.root.contains(document.activeElement))) return;
    this.put(this.head, direction === "head" ? "" : entity ?? "");
    this.put(this.tail, direction === "head" ? entity ?? "" : "");
    this.put(this.relation, relation ?? "");
    this.dirty = false;
    this.introducing = null;
    this.say("");
  }

  /** Begin the first fact of a new entity. */
  introduce(name) {
    this.exists[name] = false;
    this.introducing = name;
    this.put(this.head, name);
    this.put(this.relation, "");
    this.put(this.tail, "");
    this.dirty = true;
    this.foresee();
    this.relation.focus();
  }

  /** Say which of the names would be new. */
  foresee() {
    const [head, relation, tail] = this.written();
    const isNew = [head, tail].filter((name) => name && this.exists[name] === false);
    const parts = [...new Set(isNew)].map((name) => `“${shown(name)}” will be a new entity.`);
    if (relation && document.activeElement !== this.relation && !this.relations.includes(relation)) {
      parts.push(`“${shown(relation)}” will be a new relation.`);
      parts.push("Some models can be asked for it only once they are trained with it.");
    }
    this.say(parts.join(" "));
  }

  say(text, isError = false) {
    this.hint.textContent = text;
    this.hint.classList.toggle("error", isError);
  }

  async submit(event) {
    event.preventDefault();
    const fact = this.written();
    const before = document.activeElement;
    this.button.disabled = true;
    const done = await this.change("added", fact);
    this.button.disabled = false;
    if (!done || String(this.written()) !== String(fact)) return; // the next one is being written already
    this.dirty = false;
    const next = fact[0] === this.subject ? this.tail : this.head; // the end that is not the page's own
    if (moveFocus(before, next)) next.select();
  }

  /** Write a name into a field. A field has no line breaks, so the exact name is kept with what stands there. */
  put(input, name) {
    input.value = inLine(name);
    this.exact.set(input, name);
  }

  /** The fact in the fields: what was put there, unless something else has been written. */
  written() {
    return [this.head, this.relation, this.tail].map((input) => {
      const meant = [this.exact.get(input) ?? "", ...(input === this.relation ? this.relations : [])];
      return meant.find((name) => inLine(name) === input.value) ?? input.value;
    });
  }

  /** Store or remove a fact. True if something has changed. It can be undone here, unless `isKept` says no. */
  async change(kind, fact, undoes = null, isKept = true) {
    this.own.begin();
    let moment = null;
    try {
      const answer = await (kind === "added" ? api.addFact(fact) : api.removeFact(fact));
      if (!answer[kind]) {
        this.say(kind === "added" ? "That fact is stored already." : "That fact is not stored any more.");
        return false;
      }
      moment = answer.moment;
      this.setRelations([...this.relations, fact[1]]);
      this.exists[fact[0]] = this.exists[fact[2]] = true;
      this.say("");
      if (undoes) this.changes = this.changes.filter((change) => change !== undoes);
      else if (isKept) this.changes = [{ kind, fact }, ...this.changes].slice(0, KEPT);
      this.showChanges();
    } catch (error) {
      this.say(sentence(error.message), true);
      return false;
    } finally {
      this.own.end(moment, fact);
    }
    const isIntroduction = this.introducing !== null && fact.includes(this.introducing);
    this.introducing = null;
    await this.onChanged(fact, kind, isIntroduction);
    return true;
  }

  showChanges() {
    this.log.replaceChildren(...this.changes.map((change) => {
      const undo = async () => {
        const before = document.activeElement;
        await this.change(change.kind === "added" ? "removed" : "added", change.fact, change);
        moveFocus(before, this.log.querySelector("button") ?? this.tail);
      };
      const verb = el("span", { class: "verb" }, change.kind === "added" ? "Added" : "Removed");
      return el("li", {}, verb, " ", factLine(change.fact), " ", button("Undo", "quiet undo", undo));
    }));
  }
}

/** A name as a field can hold it. */
function inLine(name) {
  return name.replaceAll("\n", "⏎").replaceAll("\r", "␍");
}

/** Give an element the focus, unless it has been taken elsewhere since `before` had it. True if it was given. */
function moveFocus(before, to) {
  const now = document.activeElement;
  if (now !== before && now !== document.body) return false;
  to.focus();
  return true;
}

/** Asks for the server's token. Returns what was typed, or null. */
export function askForToken(dialog) {
  return (wasWrong) => new Promise((done) => {
    const input = el("input", { type: "password", id: "token-value", autocomplete: "off", required: true });
    const cancel = button("Cancel", "quiet", () => dialog.close(""));
    const why = "Changing facts on this server needs its token (HMEM_TOKEN). It is kept until this tab is closed.";
    const form = el("form", { method: "dialog" },
      el("h2", { id: "token-title" }, "Token needed"),
      el("p", {}, wasWrong ? "The server did not accept that one." : why),
      el("label", { for: "token-value" }, "Token"), input,
      el("p", { class: "actions" }, el("button", { type: "submit", class: "strong" }, "Continue"), " ", cancel));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      dialog.close(input.value);
    });
    dialog.replaceChildren(form);
    dialog.returnValue = "";
    const closed = () => {
      done(dialog.returnValue || null);
      dialog.returnValue = "";
      dialog.replaceChildren(); // what was typed is a secret
    };
    dialog.addEventListener("close", closed, { once: true });
    dialog.showModal();
  });
}
