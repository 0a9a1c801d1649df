// The first page: what is in the base, and questions worth asking of it; and the entities of one kind.

import * as api from "./api.js";
import { plainFacts } from "./asking.js";
import { address, bar, count, el, entityLink, isGiven, nameSpan, percent, relationWord, shown } from "./dom.js";
import { kindTag, markBefore, markOf } from "./kinds.js";
import { called, relationCalled } from "./names.js";

const SHOWN = 8; // entities with the most facts
const ASKED = 6; // questions worth asking
const MOST_RELATIONS = 12; // that are listed at once
const MOST_OF_KIND = 300; // entities

/** Nothing is chosen yet: show what is in the base as it comes, and draw one of its entities as a frontispiece. */
export async function welcome(root, base, star, signal) {
  fill(root, base, []);
  const { entities } = await api.entities("", SHOWN, signal);
  if (!entities.length) return;
  const asked = fill(root, base, entities);
  showQuestions(asked, null);
  const { name } = entities.at(-1);
  const around = await plainFacts(name, signal);
  star.show({ ...around, modeled: false, caption: [entityLink(name), " and its neighbors"] });
  try {
    showQuestions(asked, await api.questions(ASKED, signal));
  } catch (error) {
    if (error.name !== "AbortError") showQuestions(asked, []); // the rest will do
  }
}

/** Returns where the questions go. */
function fill(root, { graph, kinds, relations }, entities) {
  const parts = [
    el("h1", {}, "Stored facts and likely ones"),
    el("p", { class: "lead" }, graph.facts
      ? `${count(graph.facts, "fact")} about ${count(graph.entities, "entity", "entities")}. ` +
        "Find an entity: see its facts, ask which are missing, and read why."
      : "This knowledge base has no facts yet. Add the first one below."),
  ];
  if (kinds.length) parts.push(kindList(kinds));
  const asked = el("div", { id: "asked" });
  parts.push(asked);
  if (entities.length) {
    parts.push(el("h2", {}, "Entities with the most facts"), listOf(entities));
    parts.push(relationList(relations));
  }
  const keys = [["/", "find"], ["↓ ↑", "move"], ["Enter", "open"], ["Esc", "close"]];
  parts.push(el("p", { class: "caption keys" }, ...keys.flatMap(([key, what]) => [el("kbd", {}, key), ` ${what}   `])));
  root.replaceChildren(...parts);
  return asked;
}

/** The entities of one kind, those with the most facts first. */
export async function ofKind(root, kind, { kinds }, signal) {
  const { entities, more } = await api.entities("", MOST_OF_KIND, signal, kind);
  const total = kinds.find((each) => each.kind === kind)?.entities ?? null;
  const all = total === null ? [] : [`${count(total, "entity", "entities")} of this kind`];
  const lead = [...all, more ? `the ${count(entities.length)} with the most facts:` : ""].filter(Boolean).join("; ");
  root.replaceChildren(
    el("h1", { class: "of-kind" }, kindTag(kind)),
    el("p", { class: "lead" }, entities.length ? lead : "No entity is of this kind."),
    listOf(entities, "starts many-starts"));
}

function listOf(entities, kind = "starts") {
  return el("ul", { class: kind }, ...entities.map((entity) => el("li", {},
    el("span", {}, entity.kind ? markOf(entity.kind) : null, entityLink(entity.name)),
    el("span", { class: "aside" }, count(entity.facts, "fact")))));
}

function kindList(kinds) {
  const link = ({ kind, entities }) => el("li", {},
    el("a", { class: "chip", href: address({ kind }) },
      kindTag(kind), " ", el("span", { class: "many" }, count(entities))));
  return el("ul", { class: "chips kinds", "aria-label": "Kinds of entities" }, ...kinds.map(link));
}

function relationList(relations) {
  const most = [...relations].sort((a, b) => b.facts - a.facts);
  const line = ({ name, facts }) => el("li", {},
    el("i", { class: "relation" }, shown(relationCalled(name), 60)),
    el("span", { class: "aside" }, count(facts, "fact")));
  const rest = most.slice(MOST_RELATIONS);
  const others = rest.length
    ? el("details", {}, el("summary", { class: "caption" }, count(rest.length, "more relation")),
        el("ul", { class: "starts" }, ...rest.map(line)))
    : null;
  return el("div", {}, el("h2", {}, "Relations"),
    el("ul", { class: "starts" }, ...most.slice(0, MOST_RELATIONS).map(line)), others ?? "");
}

/** The questions worth asking, or that they are being looked for (null). */
function showQuestions(root, questions) {
  const title = el("h2", {}, "Questions worth asking");
  if (questions === null) {
    root.replaceChildren(title, el("p", { class: "waiting", role: "status" }, "Looking for some …"));
  } else if (!questions.length) root.replaceChildren();
  else root.replaceChildren(title, el("ul", { class: "worth" }, ...questions.map((each) => el("li", {}, worth(each)))));
}

/** A question as a link to its answers, the best of them open, with what is likely. */
function worth({ head, relation, tail, direction, probability }) {
  const [entity, answer] = direction === "tail" ? [head, tail] : [tail, head];
  const blank = el("span", { class: "blank", "aria-label": "what is asked for" }, "?");
  const middle = relationWord(relation);
  const subject = nameSpan(entity, "name subject");
  const said = direction === "tail" ? [subject, " ", middle, " ", blank] : [blank, " ", middle, " ", subject];
  const best = [markBefore(answer), el("span", { class: "name" }, shown(called(answer)))];
  const isLikely = isGiven(probability);
  return el("a", { class: "question-card", href: address({ entity, relation, direction, answer }) },
    el("span", { class: "fact asks" }, ...said),
    el("span", { class: "best" }, ...best, isLikely ? el("span", { class: "value" }, percent(probability)) : null),
    isLikely ? bar(probability) : null);
}
