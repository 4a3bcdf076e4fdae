// Editing one's own message where it stands.

import { make } from "./composer.js";
import { order } from "./server.js";

const MOST_ROWS = 12;

export async function edit(article, what, onError) {
  const { text } = await order("source", what);
  const { form, area, cancel } = formFor(text);
  const content = article.querySelector(".content");
  const before = [...content.childNodes];
  const restore = () => form.replaceWith(...before);
  cancel.addEventListener("click", restore);
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      restore();
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!area.value.trim() || area.value === text) return restore();
    return save(form, { ...what, text: area.value }).catch(onError);
  });
  content.replaceChildren(form);
  area.focus();
  form.scrollIntoView({ block: "nearest" });
}

// The list keeps a form that is being written in when its message changes, until it is saved.
async function save(form, what) {
  form.dataset.saved = "yes";
  try {
    await order("edit", what);
  } catch (error) {
    delete form.dataset.saved;
    throw error;
  }
}

function formFor(text) {
  const rows = Math.min(text.split("\n").length + 1, MOST_ROWS);
  const area = make("textarea", { value: text, rows });
  area.setAttribute("aria-label", "Edit message");
  const cancel = make("button", {
    type: "button",
    className: "press is-usual",
    textContent: "Cancel",
  });
  const row = make("div", { className: "row" });
  row.append(cancel, make("button", { className: "press is-primary", textContent: "Save" }));
  const form = make("form", { className: "edit" });
  form.append(area, row);
  return { form, area, cancel };
}
