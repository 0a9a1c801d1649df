// The field at the top: find an entity as you type. "/" brings you there from anywhere.

import { Combobox, isCalled } from "./combobox.js";
import { shown } from "./dom.js";

/** `onFind(name)` for a name to look at, `onNew(name)` for one to add. */
export function makeSearch(form, { onFind, onNew, mayWrite }) {
  const input = form.querySelector("input");
  let found = [];

  function leave() {
    input.value = "";
    found = [];
    input.blur();
  }
  const box = new Combobox(input, {
    onTake: (name) => {
      leave();
      onFind(name);
    },
    onType: (_, entities) => {
      found = entities;
    },
    offerNew: (name) => (mayWrite() ? `Add “${shown(name)}” as a new entity …` : `Look for “${shown(name)}” itself`),
    onNew: (name) => {
      leave();
      if (mayWrite()) onNew(name);
      else onFind(name);
    },
  });

  // Enter without a chosen suggestion: the name itself, else the first that begins with it, else the page for
  // names that are not there, with its suggestions.
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = input.value;
    if (!text.trim()) return;
    await box.looking;
    const exact = found.find(({ name }) => name === text) ?? found.find((entity) => isCalled(entity, text.trim()));
    const typed = text.trim().toLowerCase();
    const isBegun = (name) => name?.toLowerCase().startsWith(typed);
    const begins = found.find(({ name, label }) => isBegun(name) || isBegun(label));
    box.close();
    leave();
    onFind((exact ?? begins)?.name ?? text);
  });

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, dialog");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
  });
  return { focus: () => input.focus() };
}
