// The facts of an entity that a model inferred: dashed in the drawing, and listed here to be asserted or withdrawn.

import { button, count, el, factLine, isGiven, percent } from "./dom.js";
import { markBefore } from "./kinds.js";

/** What a fact says about its origin, for a reader; null for one that was asserted. */
export function originOf({ inferred_by: model, probability }) {
  if (!model) return null;
  return `inferred by ${model}${isGiven(probability) ? `, ${percent(probability)}` : ""}`;
}

/**
 * List those of `facts` that were inferred. `change(kind, fact, isKept)` is null where facts cannot be changed; undoing
 * either would not bring back what was inferred, so that is not offered.
 */
export function showInferred(root, facts, entity, change) {
  const some = facts.filter(originOf);
  if (!some.length) return root.replaceChildren();
  const isOpen = root.querySelector("details")?.open ?? false;
  const lines = some.map((each) => {
    const fact = [each.head, each.relation, each.tail];
    const act = change
      ? el("span", { class: "acts" }, button("Assert", "quiet", () => change("added", fact, false)), " ",
          button("Withdraw", "quiet", () => change("removed", fact, false)))
      : null;
    return el("li", {}, factLine(fact, entity, markBefore), " ", el("span", { class: "aside" }, originOf(each)), act);
  });
  const summary = el("summary", {}, `${count(some.length, "inferred fact")}, dashed: no evidence for anything`);
  root.replaceChildren(el("details", { open: isOpen }, summary, el("ul", { class: "inferences" }, ...lines)));
}
