"use strict";
// Follows the theme of the system until it is changed here.
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const paint = (theme) => {
    document.documentElement.dataset.theme = theme;
    window.dispatchEvent(new CustomEvent("augury-theme", {detail: theme}));
  };
  document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
  dark.addEventListener("change", () => paint(dark.matches ? "dark" : "light"));
  window.addEventListener("DOMContentLoaded", () => {
    const other = () => paint(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    document.getElementById("theme").addEventListener("click", other);
  });
})();
