// Where one writes: Enter sends, Shift+Enter breaks the line, @ completes a name.

import { Attaching } from "./attaching.js";

const MAX_SHOWN = 6;
const HINTS = ["Enter to send\u00a0· ", "Shift+Enter for a new line\u00a0· ", "@ for a name"];
let count = 0;

export class Composer {
  constructor(form, { onSend, onEditLast }) {
    this.form = form;
    this.onSend = onSend;
    this.onEditLast = onEditLast;
    this.people = [];
    this.chosen = 0;
    this.#build();
  }

  // `closed` says why nobody can write here, or is empty.
  set({ placeholder, people, closed = "" }) {
    this.people = people;
    this.area.placeholder = closed || placeholder;
    this.area.setAttribute("aria-label", closed || placeholder);
    this.area.disabled = Boolean(closed);
    this.send.disabled = this.attaching.button.disabled = Boolean(closed);
    this.#complain("");
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.area.setSelectionRange(text.length, text.length);
    this.#offer([]);
    this.#grow();
  }

  fill(text) {
    this.text = text;
    this.area.focus();
  }

  focus() {
    this.area.focus();
  }

  #build() {
    const id = `composer-${++count}`;
    this.names = make("ul", { className: "names", id: `${id}-names`, hidden: true });
    this.names.setAttribute("role", "listbox");
    this.names.setAttribute("aria-label", "People");
    this.area = make("textarea", { rows: 1, id, spellcheck: false });
    this.area.setAttribute("role", "combobox");
    this.area.setAttribute("aria-controls", this.names.id);
    this.area.setAttribute("aria-expanded", "false");
    this.area.setAttribute("aria-autocomplete", "list");
    this.send = make("button", { className: "send", type: "submit", textContent: "Send" });
    this.complaint = make("p", { className: "complaint" });
    this.complaint.setAttribute("role", "alert");
    const hint = make("span", { className: "hint" });
    hint.append(...HINTS.map((textContent) => make("span", { textContent })));
    const row = make("div", { className: "row" });
    const box = make("div", { className: "box" });
    this.attaching = new Attaching(box, { onChange: () => this.area.focus() });
    row.append(hint, this.attaching.button, this.send);
    box.append(this.area, this.attaching.list, this.attaching.input, row);
    this.form.append(this.names, box, this.complaint);
    this.form.addEventListener("submit", (event) => this.#submit(event));
    this.area.addEventListener("input", () => this.#changed());
    this.area.addEventListener("keydown", (event) => this.#key(event));
    this.area.addEventListener("blur", () => this.#offer([]));
    this.names.addEventListener("mousedown", (event) => this.#picked(event));
  }

  async #submit(event) {
    event.preventDefault();
    const text = this.area.value;
    const files = this.attaching.files;
    if ((!text.trim() && !files.length) || this.send.disabled) return;
    this.send.disabled = true;
    try {
      await this.onSend(text, await this.attaching.contents());
      this.attaching.remove(files);
      if (this.area.value === text) this.area.value = "";
      this.#complain("");
    } catch (error) {
      this.#complain(error.message);
    } finally {
      this.send.disabled = this.area.disabled;
      this.#changed();
    }
  }

  #key(event) {
    if (event.isComposing) return;
    if (!this.names.hidden && this.#chooses(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !this.#isInFence()) {
      event.preventDefault();
      this.form.requestSubmit();
    } else if (event.key === "ArrowUp" && !this.area.value) {
      event.preventDefault();
      this.onEditLast?.();
    }
  }

  #chooses(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      this.chosen = (this.chosen + step + this.offered.length) % this.offered.length;
      this.#mark();
    } else if (event.key === "Enter" || event.key === "Tab") {
      this.#complete(this.offered[this.chosen]);
    } else if (event.key === "Escape") {
      this.#offer([]);
      event.stopPropagation();
    } else {
      return false;
    }
    event.preventDefault();
    return true;
  }

  #changed() {
    this.#grow();
    const begun = this.#begun();
    if (begun === null) return this.#offer([]);
    const fits = ({ name, real_name }) =>
      name.startsWith(begun) || real_name.toLowerCase().startsWith(begun);
    return this.#offer(this.people.filter(fits).slice(0, MAX_SHOWN));
  }

  // The letters after an @ right before the caret, or null.
  #begun() {
    const before = this.area.value.slice(0, this.area.selectionStart);
    const found = /(?:^|[\s(])@([\w-]*)$/.exec(before);
    return found && !this.#isInFence() ? found[1].toLowerCase() : null;
  }

  #isInFence() {
    const before = this.area.value.slice(0, this.area.selectionStart);
    return (before.match(/```/g) ?? []).length % 2 === 1;
  }

  #offer(people) {
    this.offered = people;
    this.chosen = 0;
    this.names.hidden = people.length === 0;
    this.area.setAttribute("aria-expanded", String(people.length > 0));
    this.names.replaceChildren(...people.map((person, index) => this.#option(person, index)));
    this.#mark();
  }

  #option(person, index) {
    const option = make("li", { id: `${this.names.id}-${index}` });
    option.setAttribute("role", "option");
    option.dataset.index = String(index);
    const face = make("span", { className: `face ${faceOf(person)}` });
    face.textContent = person.kind === "app" ? "" : person.initials;
    face.setAttribute("aria-hidden", "true");
    const handle = make("span", { className: "handle", textContent: `@${person.name}` });
    option.append(face, make("strong", { textContent: person.real_name }), handle);
    return option;
  }

  #mark() {
    [...this.names.children].forEach((option, index) =>
      option.setAttribute("aria-selected", String(index === this.chosen)),
    );
    const marked = this.names.hidden ? "" : `${this.names.id}-${this.chosen}`;
    this.area.setAttribute("aria-activedescendant", marked);
  }

  #picked(event) {
    event.preventDefault();
    const option = event.target.closest("[data-index]");
    if (option) this.#complete(this.offered[Number(option.dataset.index)]);
  }

  #complete(person) {
    const caret = this.area.selectionStart;
    const start = this.area.value.slice(0, caret).lastIndexOf("@");
    this.area.setRangeText(`@${person.name} `, start, caret, "end");
    this.#offer([]);
    this.#grow();
    this.area.focus();
  }

  #grow() {
    this.area.style.height = "auto";
    this.area.style.height = `${Math.min(this.area.scrollHeight, 260)}px`;
  }

  #complain(text) {
    this.complaint.textContent = text;
  }
}

export function faceOf(person) {
  return person.kind === "app" ? "is-app" : `hue-${person.hue}`;
}

export function make(tag, properties) {
  return Object.assign(document.createElement(tag), properties);
}
