// What stands on the page when there is no entity to show: the welcome, and the page for names that are not there.

import { button, count, el, entityLink, sentence, shown } from "./dom.js";

/** Nothing is chosen yet. */
export function welcome(root, graph, entities) {
  const parts = [
    el("h1", {}, "Stored facts and likely ones"),
    el("p", { class: "lead" }, graph.facts
      ? `${count(graph.facts, "fact")} about ${count(graph.entities, "entity", "entities")}. ` +
        "Find an entity: see its facts, ask which are missing, and read why."
      : "This knowledge base has no facts yet. Add the first one below."),
  ];
  if (entities.length) {
    parts.push(el("h2", {}, "Entities with the most facts"));
    parts.push(el("ul", { class: "starts" }, ...entities.map((entity) =>
      el("li", {}, entityLink(entity.name), el("span", { class: "aside" }, count(entity.facts, "fact"))))));
  }
  const keys = [["/", "find"], ["↓ ↑", "move"], ["Enter", "open"], ["Esc", "close"]];
  parts.push(el("p", { class: "caption keys" }, ...keys.flatMap(([key, what]) => [el("kbd", {}, key), ` ${what}   `])));
  root.replaceChildren(...parts);
}

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
export function noAnswers(error, { hasFacts, others }) {
  const lead = (text) => el("p", { class: "lead" }, text);
  if (error.code === "no_facts" && !hasFacts) {
    const then = "Add a fact and ask again: one is enough.";
    return [lead("No facts are stored about it yet."), el("p", {}, then)];
  }
  if (error.code === "loading") return [lead("The model is being loaded …")];
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
  root.replaceChildren(...parts.flatMap((part, place) => [place ? " · " : "", part]));
}
