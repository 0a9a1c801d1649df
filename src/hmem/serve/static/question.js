// The question, as a fact with a blank: (entity, relation, ?) or (?, relation, entity); or everything that is missing.

import { button, count, el, nameSpan, shown } from "./dom.js";
import { relationCalled } from "./names.js";

const PAUSE = 250; // ms; while a user walks through the relations with the keyboard, nothing is asked

export class Question {
  /** `onAsk({relation, direction})`; null asks for all missing facts. `onStored`: `withStored` changed. */
  constructor(form, { onAsk, onStored }) {
    Object.assign(this, { form, onAsk, onStored, view: {}, listed: "" });
    this.withStored = true; // whether stored answers are listed too
    this.select = el("select", { id: "relation", "aria-label": "Relation" });
    this.select.addEventListener("change", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.ask(this.select.value, this.view.direction ?? "tail"), PAUSE);
    });
    this.line = el("span", { class: "line" });
    this.choice = el("span", { class: "choice" }, this.select);
    this.swap = button("⇄ other end", "quiet", () => this.ask(this.view.relation, this.otherEnd()), { id: "swap" });
    this.all = button("all missing facts", "quiet", () => this.ask(null, null), { id: "missing" });
    this.hide = button("hide stored answers", "quiet", () => this.toggleStored(), { id: "hide-stored" });
    form.append(this.line, el("span", { class: "ways" }, this.swap, this.all, this.hide));
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  ask(relation, direction) {
    clearTimeout(this.timer);
    this.onAsk({ relation, direction });
  }

  otherEnd() {
    return this.view.direction === "head" ? "tail" : "head";
  }

  toggleStored() {
    this.withStored = !this.withStored;
    this.hide.setAttribute("aria-pressed", String(!this.withStored));
    this.onStored();
  }

  /** `relations` are those of the graph, `facts` those of the entity, of which it has `total`. */
  show(view, relations, facts, total) {
    if (view.entity !== this.view.entity) clearTimeout(this.timer); // a choice that was meant for another entity
    const { entity, relation, direction } = (this.view = view);
    this.list(relations, facts, facts.length < total ? "+" : "");
    this.select.value = relation ?? "";
    const blank = el("span", { class: "blank", "aria-label": "what is asked for" }, "?");
    const itself = nameSpan(entity, "name subject"); // the headword has its id
    const [first, last] = direction === "head" ? [blank, itself] : [itself, blank];
    const end = el("span", { class: "end" }, el("span", { class: "arrow", "aria-hidden": "true" }, "→"), last);
    for (const each of [...this.line.children]) if (each !== this.choice) each.remove(); // the choice keeps its focus
    if (!this.choice.parentNode) this.line.append(this.choice);
    this.choice.before(first);
    this.choice.after(end);
    this.swap.disabled = !relation;
    this.all.setAttribute("aria-pressed", String(!relation));
    this.hide.hidden = !relation;
    this.hide.setAttribute("aria-pressed", String(!this.withStored));
  }

  /** The relations to choose from; those that the entity has facts of come first. `more`: "+" if these are not all. */
  list(relations, facts, more) {
    const role = this.view.direction === "head" ? "tail" : "head"; // that the entity has in such a fact
    const stored = new Map();
    for (const fact of facts) if (fact.role === role) stored.set(fact.relation, (stored.get(fact.relation) ?? 0) + 1);
    const usable = relations.filter((each) => each.usable || each.name === this.view.relation);
    const listed = JSON.stringify([usable.map((each) => each.name), [...stored], more]);
    if (listed === this.listed) return; // a list that stays the same goes on with what is being typed
    this.listed = listed;
    const option = ({ name }) => {
      const facts = stored.has(name) ? ` (${count(stored.get(name))}${more} stored)` : "";
      const text = `${shown(relationCalled(name), 50)}${facts}`;
      return el("option", { value: name }, text);
    };
    const near = usable.filter((each) => stored.has(each.name));
    const far = usable.filter((each) => !stored.has(each.name));
    const group = (label, some) => (some.length ? el("optgroup", { label }, ...some.map(option)) : "");
    this.select.replaceChildren(
      el("option", { value: "", disabled: true, hidden: true }, "relation …"),
      group("In this neighborhood", near),
      group(near.length ? "Others" : "Relations", far));
  }
}
