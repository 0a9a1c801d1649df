// What the reader looks at, kept in the address: /?entity=…&relation=…&direction=…&answer=…&at=…, or /?kind=…
// Without a relation the question is "what is missing?". Back and forward work because the browser keeps addresses.

import { address } from "./dom.js";

/** The view an address stands for. */
export function viewOf(search) {
  const query = new URLSearchParams(search);
  const relation = query.get("relation") || null;
  return {
    kind: query.get("entity") ? null : query.get("kind") || null, // whose entities are listed
    entity: query.get("entity") || null,
    relation,
    direction: relation ? (query.get("direction") === "head" ? "head" : "tail") : null, // which end is asked for
    answer: relation ? query.get("answer") || null : null, // whose reasons are open
    at: query.get("entity") && /^\d{4}-\d\d-\d\d$/.test(query.get("at")) ? query.get("at") : null, // a day; null is now
  };
}

/** The fact that an answer to the view's question would be. */
export function factOf({ entity, relation, direction }, answer) {
  return direction === "head" ? [answer, relation, entity] : [entity, relation, answer];
}

/** Holds the current view and tells `onChange(view, before)` about every other one. */
export class Views {
  constructor(onChange) {
    this.onChange = onChange;
    this.current = viewOf(location.search);
    addEventListener("popstate", () => this.become(viewOf(location.search)));
  }

  /** Go somewhere; one step back returns. */
  go(view) {
    const there = { kind: null, relation: null, direction: null, answer: null, at: null, ...view };
    if (address(there) !== address(this.current)) history.pushState(null, "", address(there));
    this.become(there);
  }

  /** Open or close the reasons of an answer: kept in the address, but not a step to go back. */
  openAnswer(answer) {
    this.current = { ...this.current, answer: this.current.relation ? answer : null };
    history.replaceState(null, "", address(this.current));
  }

  /** Look at the same as of another day: kept in the address, but not a step to go back. */
  moveTo(at) {
    this.current = { ...this.current, at };
    history.replaceState(null, "", address(this.current));
  }

  /** The entity is the same under another name: its id. */
  rename(entity) {
    this.current = { ...this.current, entity };
    history.replaceState(null, "", address(this.current));
  }

  become(view) {
    const before = this.current;
    this.current = view;
    this.onChange(view, before);
  }
}
