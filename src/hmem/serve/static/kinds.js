// How kinds of entities look: each has a color and a shape, so that neither has to be told apart alone.
// The most frequent kinds have one of their own; it is theirs by name, whatever else the base holds.

import { el, shown, svg } from "./dom.js";
import { kindOf } from "./names.js";

const LOOKS = 8; // colors in style.css, .look-0 to .look-7, each with the shape of its number
const OTHER = "other"; // the look of all further kinds
const turned = (corners, radius, start = -90) =>
  Array.from({ length: corners }, (_, at) => {
    const angle = ((start + (360 * at) / corners) * Math.PI) / 180;
    return `${(radius * Math.cos(angle)).toFixed(2)} ${(radius * Math.sin(angle)).toFixed(2)}`;
  });
const polygon = (points) => `M${points.join("L")}Z`;
const round = (r) => `M${-r} 0a${r} ${r} 0 1 1 ${2 * r} 0a${r} ${r} 0 1 1 ${-2 * r} 0Z`;
const SHAPES = [
  round,
  (r) => polygon(turned(4, 1.25 * r, -45)), // square
  (r) => polygon(turned(3, 1.35 * r)), // triangle
  (r) => polygon(turned(4, 1.3 * r)), // diamond
  (r) => polygon(turned(3, 1.35 * r, 90)), // triangle on its tip
  (r) => polygon(turned(6, 1.15 * r)),
  (r) => `M${-r} ${-0.4 * r}H${-0.4 * r}V${-r}H${0.4 * r}V${-0.4 * r}H${r}V${0.4 * r}H${0.4 * r}V${r}H${-0.4 * r}V${
    0.4 * r}H${-r}Z`, // cross
  (r) => polygon([...Array(10).keys()].map((at) => turned(10, (at % 2 ? 0.62 : 1.4) * r)[at])), // star
];

let looks = new Map(); // kind -> number of its look

/** The kinds of the base, the most frequent first. */
export function setKinds(kinds) {
  const taken = new Set();
  looks = new Map();
  for (const kind of kinds.slice(0, LOOKS).map((each) => each.kind).sort()) {
    let look = hash(kind) % LOOKS;
    while (taken.has(look)) look = (look + 1) % LOOKS;
    taken.add(look);
    looks.set(kind, look);
  }
}

function hash(text) {
  let sum = 7;
  for (const letter of text) sum = (sum * 31 + letter.codePointAt(0)) >>> 0;
  return sum;
}

/** The class that gives an element the color of a kind, as --kind. */
export function lookOf(kind) {
  return kind === null ? "look-none" : `look-${looks.get(kind) ?? OTHER}`;
}

/** The outline of a kind's shape around a point, as a drawing has it. */
export function outline(kind, radius) {
  return SHAPES[looks.get(kind) ?? 0](radius);
}

/** The mark of a kind in running text. It says nothing that the name beside it does not say. */
export function markOf(kind) {
  const size = { width: 13, height: 13, viewBox: "-7 -7 14 14" };
  const path = svg("path", { d: outline(kind, 4.4) });
  return svg("svg", { class: `kind-mark ${lookOf(kind)}`, ...size, "aria-hidden": "true" }, path);
}

/** The mark of an entity's kind before its name, and the kind in words for those who do not see it; null without. */
export function markBefore(name) {
  const kind = kindOf(name);
  if (kind === null) return null;
  return el("span", { title: kind }, markOf(kind), el("span", { class: "visually-hidden" }, `${kind}: `));
}

/** A kind by its mark and name. */
export function kindTag(kind) {
  return el("span", { class: "kind" }, markOf(kind), el("span", {}, shown(kind, 40)));
}
