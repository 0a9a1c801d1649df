// A text field that suggests entities while one types: arrows move, Enter takes, Escape closes.
// Used by the search at the top and by the form that adds facts. Follows the ARIA combobox pattern.

import * as api from "./api.js";
import { count, el, nameSpan, shown } from "./dom.js";
import { markOf } from "./kinds.js";

const PAUSE = 120; // ms without a keystroke before the server is asked
const SHOWN = 8;

let made = 0;

export class Combobox {
  /**
   * `onTake(name)` when a suggestion is taken, `onType(text, found)` after each answer of the server.
   * `offerNew` is the text of a last line for names that do not exist yet, such as (name) => `Add “${name}”`.
   */
  constructor(input, { onTake, onType = () => {}, offerNew = null, onNew = () => {} }) {
    Object.assign(this, { input, onTake, onType, offerNew, onNew });
    this.options = []; // [{name, facts, new}] and perhaps {create: name}
    this.active = -1;
    this.looking = Promise.resolve(); // the look-up that is under way
    this.list = el("ul", { class: "suggestions", role: "listbox", id: `suggestions-${++made}`, hidden: true });
    this.list.setAttribute("aria-label", "Suggestions");
    input.after(this.list);
    for (const [key, value] of Object.entries({
      role: "combobox", autocomplete: "off", spellcheck: "false", autocapitalize: "off",
      "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this.list.id,
    })) input.setAttribute(key, value);
    input.addEventListener("input", () => this.wait());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => this.close());
    this.list.addEventListener("mousedown", (event) => event.preventDefault()); // keep the focus in the field
  }

  wait() {
    clearTimeout(this.timer);
    this.looking = new Promise((done) => {
      this.timer = setTimeout(() => this.look().then(done), PAUSE);
    });
  }

  async look() {
    const text = this.input.value;
    this.abort?.abort();
    if (!text.trim()) {
      this.onType(text, []);
      this.close();
      return;
    }
    this.abort = new AbortController();
    try {
      const { entities } = await api.entities(text, SHOWN, this.abort.signal);
      if (text !== this.input.value) return;
      this.onType(text, entities);
      this.show(text, entities);
    } catch {
      this.close(); // the banner says when the server is gone
    }
  }

  show(text, entities) {
    this.options = [...entities];
    const isNew = !entities.some((entity) => isCalled(entity, text));
    if (this.offerNew && isNew) this.options.push({ create: text });
    const items = this.options.map((option, place) => this.item(option, place));
    this.list.replaceChildren(...items);
    this.move(-1);
    const open = items.length > 0 && document.activeElement === this.input;
    this.list.hidden = !open;
    this.input.setAttribute("aria-expanded", String(open));
  }

  item(option, place) {
    const take = () => this.take(option);
    const attributes = { role: "option", id: `${this.list.id}-${place}`, "aria-selected": "false", onclick: take };
    if (option.create !== undefined) return el("li", { ...attributes, class: "create" }, this.offerNew(option.create));
    const aside = [option.kind && shown(option.kind, 24), option.new ? "new" : count(option.facts, "fact")];
    const mark = option.kind ? markOf(option.kind) : null;
    const why = foundBy(option, this.input.value);
    return el("li", attributes,
      el("span", { class: "found" }, mark, nameSpan(option.name), why && el("span", { class: "why-found" }, why)),
      el("span", { class: "aside" }, aside.filter(Boolean).join(" · ")));
  }

  /** Make one suggestion the active one; −1 for none. */
  move(place) {
    this.active = place;
    [...this.list.children].forEach((item, each) => {
      item.setAttribute("aria-selected", String(each === place));
      if (each === place) item.scrollIntoView({ block: "nearest" });
    });
    if (place < 0) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", this.list.children[place].id);
  }

  key(event) {
    if (event.isComposing) return;
    const open = !this.list.hidden;
    const last = this.options.length - 1;
    if (event.key === "ArrowDown") {
      if (!open) this.look();
      else this.move(this.active >= last ? 0 : this.active + 1);
    } else if (event.key === "ArrowUp" && open) {
      this.move(this.active <= 0 ? last : this.active - 1);
    } else if (event.key === "Escape" && open) {
      this.close();
    } else if (event.key === "Enter" && open && this.active >= 0) {
      this.take(this.options[this.active]);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  take(option) {
    clearTimeout(this.timer);
    this.close();
    if (option.create !== undefined) this.onNew(option.create);
    else this.onTake(option.name);
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.active = -1;
  }
}

/** Whether an entity has this name: its id, its label or an alias. */
export function isCalled({ name, label, aliases = [] }, text) {
  return [name, label, ...aliases].includes(text);
}

const AROUND = 30; // letters of a description before the word that was found

/** Why something was found, where its label does not show it: an alias, or words of its description. */
function foundBy({ label, description, found_by: by }, typed) {
  if (by === undefined || by === label) return null;
  if (by) return `also called ${shown(by, 60)}`;
  const at = (description ?? "").toLowerCase().indexOf(typed.trim().toLowerCase().split(/\s+/)[0]);
  const start = at > AROUND ? description.indexOf(" ", at - AROUND) + 1 : 0;
  return description ? shown(`${start ? "… " : ""}${description.slice(start)}`, 80) : null;
}
