// The top of an entity's page: its label, and all that is said of it besides its facts.

import { address, count, el, shown } from "./dom.js";
import { kindTag } from "./kinds.js";
import { valueTable } from "./values.js";

const ALIASES = 12; // that are listed at once

/** `said` is what the server says of the entity, if anything; `total` how many facts it has. */
export function showHeadword({ name, about, said: lines }, entity, said, { total, isNew }) {
  const label = said.label ?? entity;
  name.textContent = shown(label, label.length);
  name.classList.toggle("long", label.length > 60);
  name.title = label.length > 60 ? label : "";
  const unseen = isNew ? ". An unseen entity: the model was trained without it." : "";
  const facts = `${total ? count(total, "stored fact") : "No stored facts"}${unseen}`;
  const kind = said.kind ? el("a", { class: "chip", href: address({ kind: said.kind }) }, kindTag(said.kind)) : null;
  const id = label === entity ? null : el("span", { class: "id", title: "Its id" }, shown(entity, 80));
  about.replaceChildren(...[kind, id, el("span", {}, facts)].filter(Boolean));
  const parts = [described(said.description), aliases(said.aliases ?? []), valueTable(said.values)];
  lines.replaceChildren(...parts.filter(Boolean));
}

function described(text) {
  return text ? el("p", { class: "described" }, shown(text.trim(), 2000)) : null;
}

function aliases(all) {
  if (!all.length) return null;
  const listed = (some) => some.map((alias) => el("li", { class: "name" }, shown(alias)));
  const rest = all.length > ALIASES + 2 ? all.slice(ALIASES) : [];
  const first = el("ul", { class: "aliases" }, ...listed(all.slice(0, all.length - rest.length)));
  const more = rest.length
    ? el("details", {}, el("summary", { class: "caption" }, `${count(rest.length)} more`),
        el("ul", { class: "aliases" }, ...listed(rest)))
    : null;
  return el("div", { class: "also" }, el("span", { class: "aside" }, "Also called"), first, more);
}
