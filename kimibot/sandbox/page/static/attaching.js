// The files that go with the next message: chosen, pasted or dropped, and listed until it is sent.

import { make } from "./composer.js";

export class Attaching {
  constructor(box, { onChange }) {
    this.files = [];
    this.onChange = onChange;
    this.button = make("button", { type: "button", className: "attach", textContent: "📎" });
    this.button.setAttribute("aria-label", "Attach files");
    this.button.title = "Attach files";
    this.list = make("ul", { className: "attached", hidden: true });
    this.list.setAttribute("aria-label", "Files to send");
    this.input = make("input", { type: "file", multiple: true, hidden: true });
    this.input.setAttribute("aria-label", "Files");
    this.button.addEventListener("click", () => this.input.click());
    this.input.addEventListener("change", () => {
      this.#add(this.input.files);
      this.input.value = "";
    });
    box.addEventListener("dragover", (event) => event.preventDefault());
    box.addEventListener("drop", (event) => this.#take(event, event.dataTransfer));
    box.addEventListener("paste", (event) => this.#take(event, event.clipboardData));
  }

  // As the local Slack takes them.
  contents() {
    return Promise.all(this.files.map(readWhole));
  }

  remove(files) {
    this.files = this.files.filter((file) => !files.includes(file));
    this.#draw();
  }

  #take(event, data) {
    if (!data?.files.length) return;
    event.preventDefault();
    this.#add(data.files);
  }

  #add(files) {
    this.files = [...this.files, ...files];
    this.#draw();
  }

  #draw() {
    this.list.replaceChildren(...this.files.map((file) => this.#entry(file)));
    this.list.hidden = this.files.length === 0;
    this.onChange();
  }

  #entry(file) {
    const entry = make("li", { textContent: file.name });
    const remove = make("button", { type: "button", textContent: "✕" });
    remove.setAttribute("aria-label", `Remove ${file.name}`);
    remove.addEventListener("click", () => this.remove([file]));
    entry.append(remove);
    return entry;
  }
}

function readWhole(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("error", () => reject(new Error(`${file.name} can't be read.`)));
    reader.addEventListener("load", () => {
      const base64 = reader.result.slice(reader.result.indexOf(",") + 1);
      resolve({ name: file.name, mimetype: file.type, base64 });
    });
    reader.readAsDataURL(file);
  });
}
