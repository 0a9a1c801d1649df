// What stands on the page when there is no entity to show: names that are not there, what failed.

import * as api from "./api.js";
import { button, count, el, entityLink, sentence, shown } from "./dom.js";
import { markOf } from "./kinds.js";

/** There is no such name. */
export function unknown(root, name, error, { mayWrite, onNew }) {
  const quoted = el("q", { class: "name" }, shown(name, 300));
  const parts = [el("h1", {}, "No such entity"), el("p", { class: "lead" }, "No entity has the name ", quoted, ".")];
  if (error.suggestion.length) {
    parts.push(el("h2", {}, "Perhaps you mean"));
    parts.push(el("ul", { class: "starts" }, ...error.suggestion.map((each) => el("li", {}, entityLink(each)))));
  }
  if (mayWrite) {
    const add = button("Add it as a new entity", "strong", () => onNew(name), { id: "introduce" });
    parts.push(el("p", { class: "actions" }, add));
  }
  root.replaceChildren(...parts);
}

/** Several entities have this label: which of them? */
export async function ambiguous(root, name, ids) {
  const asked = await Promise.allSettled(ids.map((id) => api.entity(id)));
  const lines = asked.flatMap(({ value }) => (value ? [value] : [])).map((each) => el("li", {},
    el("span", {}, each.kind ? markOf(each.kind) : null, entityLink(each.name), " ",
      each.label ? el("span", { class: "id" }, shown(each.name, 40)) : null),
    el("span", { class: "aside" }, each.kind ? shown(each.kind, 30) : "")));
  root.replaceChildren(el("h1", {}, "Which of them?"),
    el("p", { class: "lead" }, "Several entities are called ", el("q", { class: "name" }, shown(name, 300)), "."),
    el("ul", { class: "starts" }, ...lines));
}

/** Something unexpected went wrong; the server's words, and a way on. */
export function failed(root, error, onAgain) {
  const isGone = error.code === "gone";
  const said = isGone ? "It may have been stopped. The page tries again by itself." : sentence(error.message);
  root.replaceChildren(
    el("h1", {}, isGone ? "The server does not answer" : "That did not work"),
    el("p", { class: "lead" }, said),
    el("p", { class: "actions" }, button("Try again", "strong", onAgain)));
}

/** Why there are no answers to show, as elements. `others` are links to relations that may have been meant. */
export function noAnswers(error, { hasFacts, others, isLoading }) {
  const lead = (text) => el("p", { class: "lead" }, text);
  if (error.code === "no_facts" && !hasFacts) {
    const then = "Add a fact and ask again: one is enough.";
    return [lead("No facts are stored about it yet."), el("p", {}, then)];
  }
  if (error.code === "none_then") return [lead("Nothing was known of it then.")];
  if (error.code === "loading" || (error.code === "timeout" && isLoading)) {
    const why = "For the first question to a base it counts how far its answers can be trusted. It may take a minute.";
    return [lead("The model is being loaded …"), el("p", {}, why)];
  }
  const perhaps = others.flatMap((link, place) => [place ? ", " : "Perhaps: ", link]);
  return [lead(sentence(error.message)), el("p", {}, ...perhaps)];
}

/** The last line of the page: what is served. */
export function colophon(root, graph) {
  const model = graph.model;
  const parts = [`${count(graph.facts, "fact")}, ${count(graph.entities, "entity", "entities")}`];
  parts.push(`model: ${model.preset ?? model.name}${model.dataset ? `, trained on ${model.dataset}` : ""}`);
  if (model.status === "loading") parts.push("being loaded");
  if (model.trouble) parts.push(model.trouble);
  parts.push(count(graph.moment, "write"));
  parts.push(graph.writes ? "facts can be changed here" : "read-only");
  root.replaceChildren(...parts.flatMap((part, place) => [place ? "\u00a0· " : "", part]));
}
