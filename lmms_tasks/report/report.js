"use strict";
(function () {
  const cards = Array.from(document.querySelectorAll(".card"));
  const filters = document.getElementById("filters");
  if (!cards.length || !filters) return;
  const task = document.getElementById("filter-task");
  const text = document.getElementById("filter-text");
  const disagree = document.getElementById("filter-disagree");
  const split = document.getElementById("filter-split");
  const outcomes = Array.from(filters.querySelectorAll("input[name=outcome]"));
  const count = document.getElementById("filter-count");
  const none = document.getElementById("no-cards");
  const words = new Map();
  function contains(card, wanted) {
    if (!wanted) return true;
    if (!words.has(card)) words.set(card, card.textContent.toLowerCase());
    return words.get(card).includes(wanted);
  }
  function apply() {
    const allowed = new Set(outcomes.filter((box) => box.checked).map((box) => box.value));
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    for (const card of cards) {
      const fits =
        (!task.value || card.dataset.task === task.value) &&
        card.dataset.outcomes.split(" ").some((outcome) => allowed.has(outcome)) &&
        (!disagree.checked || "disagree" in card.dataset) &&
        (!split || !split.checked || "split" in card.dataset) &&
        contains(card, wanted);
      card.hidden = !fits;
      if (fits) shown += 1;
    }
    count.textContent = shown + " of " + cards.length + " shown";
    none.hidden = shown > 0;
  }
  filters.addEventListener("input", apply);
  filters.addEventListener("change", apply);
  filters.hidden = false;
  apply();
})();
