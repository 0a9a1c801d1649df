// How weights become line widths, and the lines below the drawing that say so and name what is not drawn.

import { button, count, decimal, el, shown, svg } from "./dom.js";

const THIN = 0.8, THICK = 4.6; // px

/** The weights of one memory often lie close together, so their range is stretched over all widths. */
export function scaleOf(facts) {
  const isGiven = (weight) => weight !== null && weight !== undefined;
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

/** `rest` are the roles that found no room, and `open(key)` makes some. */
export function drawLegend(root, { facts, question, total, modeled, caption = [] }, scale, rest, open) {
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
  root.replaceChildren(...parts);
}

function sample(width) {
  const line = svg("line", { x1: 0, x2: 26, y1: 5, y2: 5 });
  line.style.setProperty("stroke-width", `${width}px`);
  return svg("svg", { class: "sample", width: 26, height: 10, "aria-hidden": "true" }, line);
}

function others(rest, open) {
  const facts = rest.reduce((sum, group) => sum + group.hidden, 0);
  const names = rest.map(({ key, relation, role, hidden }) => {
    const text = role === "tail" ? `← ${shown(relation, 40)}` : `${shown(relation, 40)} →`;
    return button(`${text}  ${count(hidden)}`, "quiet", () => open(key));
  });
  const summary = `Not drawn: ${count(facts, "fact")} in ${count(rest.length, "other role")}`;
  return el("details", {}, el("summary", {}, summary), el("div", { class: "rest" }, ...names));
}
