// Light or dark. Runs before the page is painted, hence a plain script and not a module.
// Without a choice the system's preference holds; a choice is remembered on this machine only.
"use strict";

(() => {
  const KEY = "hmem.theme";
  const NEXT = { auto: "light", light: "dark", dark: "auto" };

  function chosen() {
    try {
      const stored = localStorage.getItem(KEY);
      return stored in NEXT ? stored : "auto";
    } catch {
      return "auto"; // storage may be forbidden; the preference of the system is fine
    }
  }

  function apply(theme) {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme; // style.css sets color-scheme by it
  }

  let theme = chosen();
  apply(theme);

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => {
      button.textContent = `Theme: ${theme}`;
      button.setAttribute("aria-label", `Theme: ${theme}. Change to ${NEXT[theme]}`);
    };
    button.addEventListener("click", () => {
      theme = NEXT[theme];
      apply(theme);
      try {
        localStorage.setItem(KEY, theme);
      } catch { /* remembered until the page is closed */ }
      show();
    });
    show();
  });
})();
