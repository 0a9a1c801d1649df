// What lies beyond the star when reasons are open: the answer, the fact that is asked for (dashed), and the steps of
// paths that lead from a neighbor to the answer.

import { fillerOf, keyOf } from "./arrange.js";
import { factKey, shown, svg } from "./dom.js";
import { called, relationCalled } from "./names.js";

const MOST = 6; // paths drawn; reasons.js lists all of them
const ROW = 56; // height of a row of stops below the star

/** {height, under, over}: how much taller the drawing gets, and what goes below and above its spokes. */
export function drawPaths(plan, { entity, answer, paths }) {
  const walks = paths.slice(0, MOST).map((path) => stepsOf(entity, path));
  const points = new Map([[entity, plan.hub]]); // where names stand; a neighbor with several facts, at the first
  const dots = new Map(); // where the spoke of a fact ends
  for (const { kind, fact, x, y } of plan.lines) {
    if (kind !== "fact") continue;
    const dot = { x, y, inside: true };
    dots.set(keyOf(fact), dot);
    if (!points.has(fillerOf(fact))) points.set(fillerOf(fact), dot);
  }

  const stops = svg("g", { class: "stops" });
  const middle = plan.hub.x + (plan.fan ? plan.reach * 0.4 : 0);
  const visited = walks.flatMap((steps) => steps.map(({ to }) => to));
  const between = [...new Set(visited)].filter((name) => name !== answer && !points.has(name));
  let height = 0;
  const row = (names, kind) => { // side by side; in a fan one below the other, where the left is free
    const apart = plan.fan ? 0 : Math.min(200, (plan.width - 30) / names.length);
    names.forEach((name, place) => {
      if (plan.fan || place === 0) height += plan.fan ? ROW / 2 : ROW;
      const x = middle + (place - (names.length - 1) / 2) * apart;
      const point = { x, y: plan.height + height - (plan.fan ? 10 : 30) };
      points.set(name, point);
      stops.append(stop(name, point, kind, plan.fan ? plan.width - middle - 20 : apart, plan.fan));
    });
  };
  if (between.length) row(between, "stop");
  const there = points.get(answer);
  if (there) stops.append(svg("circle", { class: "ring", cx: there.x, cy: there.y, r: 8 }));
  else row([answer], "stop answer");

  const lines = svg("g", { class: "walks" });
  const drawn = new Set();
  for (const steps of walks) {
    let from = dots.get(factKey(steps[0].fact)) ?? points.get(steps[0].to);
    for (const { to, fact } of steps.slice(1)) {
      const end = points.get(to);
      const key = `${from.x} ${from.y} ${end.x} ${end.y}`; // two facts between the same two are one line
      if (!drawn.has(key)) lines.append(curve(from, end, plan, "walk", read(fact)));
      drawn.add(key);
      from = end;
    }
  }
  const asked = curve(plan.hub, points.get(answer), plan, "asked-for", "the fact that is asked for");
  return { height, under: [asked, lines], over: [stops] };
}

function read([head, relation, tail]) {
  return `${called(head)} ${relationCalled(relation)} ${called(tail)}`;
}

/** The steps of a path, each with the entity it reaches. */
function stepsOf(start, path) {
  let here = start;
  return path.map((fact) => {
    here = fact[0] === here ? fact[2] : fact[0];
    return { to: here, fact };
  });
}

function stop(name, { x, y }, kind, room, beside) {
  const fits = Math.max(6, Math.floor(room / 7.5));
  const where = beside ? { x: x + 12, y, dy: "0.32em" } : { x, y: y + 21, "text-anchor": "middle" };
  const dot = svg("circle", { cx: x, cy: y, r: kind === "stop" ? 3.5 : 5 });
  return svg("g", { class: kind }, svg("title", {}, called(name)), dot, svg("text", where, shown(called(name), fits)));
}

/** A line between two points that keeps to the inside of the star, where no names stand. */
function curve(from, to, { hub, fan }, kind, told) {
  const inward = (point) => (point.inside ? hub.x + (point.x - hub.x) * 0.45 : point.x);
  const drop = (to.y - from.y) * 0.5;
  const beside = from.inside && to.inside && Math.abs(from.x - to.x) < 40;
  const lean = beside ? (fan ? -46 : Math.sign(hub.x - from.x) * 60) : 0;
  const bends = `${inward(from) + lean} ${from.y + drop * 0.3} ${inward(to) + lean} ${to.y - drop}`;
  const d = `M${from.x} ${from.y}C${bends} ${to.x} ${to.y}`;
  return svg("path", { class: kind, d }, svg("title", {}, told));
}
