// How weights become line widths, and what stands below the drawing: the kinds in it, each of which can be left out,
// the widths, and what is not drawn.

import { fillerOf } from "./arrange.js";
import { button, count, decimal, el, isGiven, shown, svg } from "./dom.js";
import { kindTag } from "./kinds.js";
import { kindOf, readFrom } from "./names.js";

const THIN = 0.8, THICK = 4.6; // px

/** The weights of one memory often lie close together, so their range is stretched over all widths. */
export function scaleOf(facts) {
  const weights = facts.map((fact) => fact.weight).filter(isGiven);
  const low = weights.length ? Math.min(...weights) : null;
  const high = weights.length ? Math.max(...weights) : null;
  const part = (weight) => (high - low > 0.02 ? (weight - low) / (high - low) : 0.5);
  return {
    low,
    high,
    width: (weight) => (isGiven(weight) ? THIN + part(weight) * (THICK - THIN) : 1.3),
    dot: (weight) => (isGiven(weight) ? 2.4 + 2 * part(weight) : 3),
  };
}

/** `rest` are the roles that found no room: `open(key)` makes some. `toggle(kind)` draws a kind or leaves it out. */
export function drawLegend(root, data, scale, rest, { open, toggle }) {
  const { facts, question, total, modeled, caption = [], without } = data;
  const held = root.contains(document.activeElement) ? document.activeElement.dataset.kind : undefined;
  const parts = [...caption];
  const { low, high } = scale;
  if (low !== null) {
    parts.push("Weight in the memory, for this question: ");
    parts.push(sample(scale.width(low)), ` ${decimal(low)} to `, sample(scale.width(high)), ` ${decimal(high)}. `);
  } else if (modeled && !question && facts.length) {
    parts.push("Choose a relation, and line widths show the weights of facts in the memory. ");
  }
  const unsent = (total ?? 0) - facts.length;
  if (unsent > 0) parts.push(`Beyond these, ${count(unsent, "fact")} more are stored. `);
  if (rest.length) parts.push(others(rest, open));
  const chips = kindsOf(facts, without, toggle);
  root.replaceChildren(...(chips ? [chips] : []), el("div", {}, ...parts));
  if (held !== undefined) root.querySelector(`[data-kind="${CSS.escape(held)}"]`)?.focus();
}

/** The kinds of the neighbors, as switches; nothing where none has a kind. */
function kindsOf(facts, without, toggle) {
  const counts = new Map();
  for (const fact of facts) counts.set(kindOf(fillerOf(fact)), (counts.get(kindOf(fillerOf(fact))) ?? 0) + 1);
  const named = [...counts.keys()].filter((kind) => kind !== null).sort((a, b) => counts.get(b) - counts.get(a));
  if (!named.length) return null;
  const listed = counts.has(null) ? [...named, null] : named;
  const chips = listed.map((kind) => {
    const told = `${kind ?? "without a kind"}, ${count(counts.get(kind), "fact")}: show in the picture`;
    const attributes = { "aria-pressed": String(!without.has(kind)), "aria-label": told, "data-kind": kind ?? "" };
    const chip = button("", "chip", () => toggle(kind), attributes);
    chip.append(kind === null ? "no kind" : kindTag(kind), " ", el("span", { class: "many" }, count(counts.get(kind))));
    return chip;
  });
  return el("div", { class: "chips", role: "group", "aria-label": "Kinds in the picture" }, ...chips);
}

function sample(width) {
  const line = svg("line", { x1: 0, x2: 26, y1: 5, y2: 5 });
  line.style.setProperty("stroke-width", `${width}px`);
  return svg("svg", { class: "sample", width: 26, height: 10, "aria-hidden": "true" }, line);
}

function others(rest, open) {
  const facts = rest.reduce((sum, group) => sum + group.hidden, 0);
  const names = rest.map(({ key, relation, role, hidden }) => {
    const text = readFrom(role, relation, (name) => shown(name, 40));
    return button(`${text}  ${count(hidden)}`, "quiet", () => open(key));
  });
  const summary = `Not drawn: ${count(facts, "fact")} in ${count(rest.length, "other role")}`;
  return el("details", {}, el("summary", {}, summary), el("div", { class: "rest" }, ...names));
}
