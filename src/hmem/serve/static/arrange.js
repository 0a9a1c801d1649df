// Which facts of an entity are drawn, and where. Numbers only: star.js draws them.
//
// A fact in which the entity is the head points away from it and stands on the right; one in which it is the tail
// stands on the left. On narrow screens, and when one side is empty, all stand on the right, like a fan.

import { factKey } from "./dom.js";
import { called, relationCalled } from "./names.js";

const ROW = 21; // height of a line with a name
const HEADING = 21; // of a line with a role
const GAP = 9; // between two roles
const NARROW = 540; // px; below, everything stands on the right
const MARGIN = 12; // px left of a hub at the edge
const HALF_TEXT = 8; // px that a text is high above its middle
const AWAY = 10; // px between the ring and a text
const ALL = 80; // names shown of a role that was opened

/** The name at the other end. */
export function fillerOf(fact) {
  return fact.role === "head" ? fact.tail : fact.head;
}

function roleKey(fact) {
  return JSON.stringify([fact.relation, fact.role]);
}

/**
 * The facts grouped by role: the `spokes` strongest of at most so many `roles`, those in `keep`, the role that is
 * `asked` for, and all of the roles in `opened`. Returns {groups: [{key, relation, role, shown, hidden}], rest}, where
 * `rest` are the groups that are not drawn.
 */
export function arrange(facts, { spokes, roles, keep, opened, asked }) {
  const found = new Map();
  for (const fact of facts) {
    const key = roleKey(fact);
    if (!found.has(key)) found.set(key, { key, relation: fact.relation, role: fact.role, facts: [] });
    found.get(key).facts.push(fact);
  }
  const isAsked = (group) => Boolean(asked) && roleKey(asked) === group.key;
  const isKept = (group) => group.facts.some((fact) => keep.has(keyOf(fact)));
  const must = (group) => opened.has(group.key) || isAsked(group) || isKept(group);
  const all = [...found.values()];
  all.sort((a, b) => must(b) - must(a) || strongest(b) - strongest(a) || b.facts.length - a.facts.length);
  const many = Math.max(roles, all.filter(must).length);
  const heads = all.slice(0, many).filter((group) => group.role === "head").length;
  const isTall = many > 5 && Math.max(heads, many - heads) > 0.7 * many; // most of it would stand on one side
  const drawn = new Set(inOrder(all.slice(0, many)).slice(0, isTall ? (2 / 3) * spokes : spokes).map(keyOf));
  const groups = all.map((group) => {
    const chosen = group.facts.filter((fact) => drawn.has(keyOf(fact)) || keep.has(keyOf(fact)));
    const shown = (opened.has(group.key) ? group.facts.slice(0, Math.max(ALL, chosen.length)) : chosen).sort(byName);
    return { ...group, shown, hidden: group.facts.length - shown.length };
  });
  // In the order of their names, so that they stand in the same place whatever is asked.
  const byRelation = (a, b) => relationCalled(a.relation).localeCompare(relationCalled(b.relation));
  return { groups: groups.slice(0, many).sort(byRelation), rest: groups.slice(many) };
}

/** One string for a fact as the server sends it. */
export function keyOf(fact) {
  return factKey([fact.head, fact.relation, fact.tail]);
}

function byName(a, b) {
  return called(fillerOf(a)) < called(fillerOf(b)) ? -1 : 1;
}

function strength(fact) {
  return fact.weight ?? 0;
}

function strongest(group) {
  return Math.max(...group.facts.map(strength));
}

/** The two strongest of each role, then the strongest; where there are no weights, one of each role in turn. */
function inOrder(groups) {
  const turns = groups.flatMap((group) =>
    [...group.facts].sort((a, b) => strength(b) - strength(a)).map((fact, turn) => ({ fact, turn })));
  const early = ({ turn }) => Math.min(turn, 2);
  turns.sort((a, b) => early(a) - early(b) || strength(b.fact) - strength(a.fact) || a.turn - b.turn);
  return turns.map(({ fact }) => fact);
}

/**
 * Places for everything: {width, height, hub, reach, half, fan, whole, lines}, a line being a role, a fact or "so many
 * more", each with the point its spoke ends at and where its text begins and which way it runs. `widest` is the room
 * that the longest text needs. Where a whole ring would be too thin, a fan has half of one, like a protractor.
 */
export function place(groups, width, widest) {
  const fan = width < NARROW || !groups.some((g) => g.role === "head") || !groups.some((g) => g.role === "tail");
  const sides = fan
    ? [{ groups: [...groups].sort((a, b) => (a.role < b.role ? -1 : 1)), sign: 1 }]
    : [
        { groups: groups.filter((group) => group.role === "tail"), sign: -1 },
        { groups: groups.filter((group) => group.role === "head"), sign: 1 },
      ];
  const heights = sides.map((side) => heightOf(side.groups));
  const half = Math.max(...heights, 150) / 2 + 40; // more than the lines need, so that the ends of the arc stay open
  const height = 2 * half + 8;
  const room = width - widest - AWAY - 10;
  const whole = !fan || room > half;
  const most = !fan ? room - width / 2 : whole ? room / 2 : room - MARGIN;
  const round = width < NARROW ? 0.7 * half : 1.05 * half;
  const reach = Math.max(width * 0.15, Math.min(most, round, 270));
  const x = !fan ? width / 2 : whole ? Math.max(width / 3, reach + 1) : MARGIN; // with the ring inside the drawing
  const hub = { x, y: height / 2 };
  const arc = (y) => reach * Math.sqrt(Math.max(0, 1 - (y / half) ** 2));
  const lines = sides.flatMap((side, each) => linesOf(side, hub, -heights[each] / 2, arc));
  return { width, height, hub, reach, half, fan, whole, lines };
}

function heightOf(groups) {
  const rows = groups.reduce((sum, group) => sum + HEADING + ROW * (group.shown.length + (group.hidden ? 1 : 0)), 0);
  return rows + GAP * Math.max(0, groups.length - 1);
}

function linesOf({ groups, sign }, hub, top, arc) {
  const lines = [];
  let y = top;
  const put = (kind, height, data) => {
    const middle = y + height / 2;
    const outermost = Math.max(arc(middle - HALF_TEXT), arc(middle + HALF_TEXT)); // the ring passes no text
    const start = hub.x + sign * (Math.max(arc(middle), outermost) + AWAY);
    lines.push({ kind, sign, x: hub.x + sign * arc(middle), y: hub.y + middle, start, ...data });
    y += height;
  };
  for (const group of groups) {
    put("role", HEADING, { group });
    for (const fact of group.shown) put("fact", ROW, { group, fact });
    if (group.hidden) put("more", ROW, { group });
    y += GAP;
  }
  return lines;
}
