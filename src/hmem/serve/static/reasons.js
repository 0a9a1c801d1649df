// Why an answer scored what it scored: the stored facts and paths that gave it its score, strongest first.

import { address, bar, button, chainLine, count, decimal, el } from "./dom.js";
import { factKey, factLine, isGiven, share, shown } from "./dom.js";
import { called } from "./names.js";

const SAID = {
  completion: "completion of the memory",
  usual: "what answers to this question have in common",
  dense: "the memory as a whole, no single fact",
  rest: "distance that no fact decides",
};
const SMALL = 0.005; // parts below go under "others"
const MOST = 8; // lines shown before "others"

/** The lines of an explanation in the form that the page and the drawing need. */
export function read(explained) {
  const isSum = !explained.lines.some((line) => line.kind === "rest"); // parts of a probability, else of a score
  const sizes = explained.lines.filter((line) => line.kind !== "rest").map((line) => Math.abs(line.contribution));
  const largest = Math.max(...sizes, 1e-12);
  const lines = explained.lines.map((line) => ({
    ...line,
    size: isSum ? Math.abs(line.share ?? 0) : Math.min(1, Math.abs(line.contribution) / largest),
    said: isSum ? share(line.share ?? 0) : `${line.contribution > 0 ? "+" : ""}${decimal(line.contribution)}`,
  }));
  const counts = (line) => line.size >= SMALL && line.contribution !== 0;
  const main = lines.filter(counts).slice(0, MOST);
  return { isSum, main, others: lines.filter((line) => !main.includes(line)) };
}

/** What of it the star shows: Map(fact -> its part as text), and the paths. */
export function marksOf({ main }) {
  const marks = new Map();
  const direct = main.filter((line) => line.kind === "fact" && line.contribution > 0);
  for (const line of direct) marks.set(factKey(line.facts[0]), line.said);
  const paths = main.filter((line) => line.kind === "path").map((line) => line.facts);
  for (const path of paths) if (!marks.has(factKey(path[0]))) marks.set(factKey(path[0]), "");
  return { marks, paths };
}

/** The weights of the facts in the memory that the explanation is about. */
export function weightsOf(explained) {
  const facts = explained.lines.filter((line) => line.kind === "fact" && line.weight !== null);
  return new Map(facts.map((line) => [factKey(line.facts[0]), line.weight]));
}

/**
 * Fill `container` with the reasons of `row`. `actions` are elements for the last line (store it, look at it, …).
 */
export function showReasons(container, row, explained, { entity, actions }) {
  const reading = read(explained);
  const listed = (lines) => el("ul", { class: "lines" }, ...lines.map((line) => reasonLine(entity, line)));
  const parts = [el("p", { class: "why" }, why(row, explained, reading))];
  if (reading.main.length) parts.push(listed(reading.main));
  if (reading.others.length) {
    const facts = reading.others.filter((line) => line.kind === "fact").length;
    const what = facts ? `${count(facts, "other fact")} in the memory, with` : "What had";
    parts.push(el("details", {}, el("summary", {}, `${what} little or no part in it`), listed(reading.others)));
  }
  parts.push(el("p", { class: "actions" }, ...actions));
  container.replaceChildren(...parts);
  return reading;
}

function why(row, explained, { isSum, main }) {
  const stored = explained.stored ?? row.stored ? "It is stored; its score comes from the other facts. " : "";
  const score = `Score ${decimal(explained.score)}. `;
  if (!main.length) return `${stored}${score}No single fact contributes to it.`;
  return `${stored}${score}${isSum ? "It comes from:" : "What each fact adds to it:"}`;
}

function reasonLine(entity, line) {
  const what = !line.facts.length || line.kind === "counted"
    ? el("span", { class: "fact plain" }, SAID[line.kind] ?? line.text)
    : line.kind === "path" ? chainLine(entity, line.facts) : factLine(line.facts[0], entity);
  const weight = isGiven(line.weight) ? el("span", { class: "weight" }, `weight ${decimal(line.weight)}`) : null;
  return el("li", { class: `reason ${line.contribution < 0 ? "against" : ""}`, "data-kind": line.kind },
    el("span", { class: "part" }, line.said),
    bar(Math.max(0.015, line.size)),
    el("span", { class: "what" }, what, weight && " ", weight));
}

/** A link to another question or entity. */
export function linkTo(view, text) {
  return el("a", { href: address(view) }, text);
}

/** What can be done with an answer. `change(kind, fact)` stores or removes it; null where that is not allowed. */
export function actionsFor(row, { entity, relation, at }, { direction, answer, change }) {
  const parts = [];
  if (change) {
    const [kind, text] = row.stored ? ["removed", "Remove this fact"] : ["added", "Store this fact"];
    parts.push(button(text, "quiet store", () => change(kind, row.fact)));
  }
  parts.push(linkTo({ entity: answer }, `Look at ${shown(called(answer), 40)}`));
  const whole = { entity, relation: row.fact[1], direction, at };
  if (!relation) parts.push(linkTo(whole, "All answers to this question"));
  return parts.flatMap((part, place) => [place ? " " : "", part]);
}
