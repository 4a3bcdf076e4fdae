// A list of messages that are drawn by the server: kept in order, grouped, and scrolled.

const hour = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const GROUP_SECONDS = 300;
const NEAR_END_PIXELS = 120;

export class MessageList {
  constructor(section, { emptyText = "" } = {}) {
    this.section = section;
    this.emptyText = emptyText;
    this.meanwhile = null; // what has changed since we began to look, while we look
  }

  show(messages) {
    this.section.replaceChildren(...messages.map((message) => drawn(message.html)));
    this.#arrange();
    this.scrollToEnd();
  }

  put(message) {
    const wasAtEnd = this.#isAtEnd();
    const element = drawn(message.html);
    const old = this.find(message.ts);
    if (old) {
      const focused = focusIn(old);
      const editing = old.querySelector(".content:has(.edit:not([data-saved]))");
      if (editing) element.querySelector(".content").replaceWith(editing);
      old.replaceWith(element);
      editing?.querySelector("textarea").focus();
      if (focused) element.querySelector(focused)?.focus();
    } else {
      this.section.insertBefore(element, this.#firstAfter(message.ts));
    }
    this.#arrange();
    if (wasAtEnd) this.scrollToEnd();
  }

  remove(ts) {
    this.find(ts)?.remove();
    this.#arrange();
  }

  find(ts) {
    return this.section.querySelector(`article[data-ts="${CSS.escape(ts)}"]`);
  }

  lastOf(author) {
    const own = this.section.querySelectorAll(`article[data-author="${CSS.escape(author)}"]`);
    return own[own.length - 1] ?? null;
  }

  scrollToEnd() {
    this.section.scrollTop = this.section.scrollHeight;
  }

  #isAtEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.section;
    return scrollHeight - scrollTop - clientHeight < NEAR_END_PIXELS;
  }

  #firstAfter(ts) {
    return [...this.section.querySelectorAll("article")].find((one) => one.dataset.ts > ts) ?? null;
  }

  #arrange() {
    this.section.querySelectorAll(".day, .empty").forEach((one) => one.remove());
    let previous = null;
    for (const article of this.section.querySelectorAll("article")) {
      setTimes(article);
      const isNewDay = !previous || dayOf(previous) !== dayOf(article);
      if (isNewDay) article.before(divider(dayOf(article)));
      article.classList.toggle("follows", !isNewDay && continues(previous, article));
      previous = article;
    }
    if (!previous && this.emptyText) this.section.append(paragraph("empty", this.emptyText));
  }
}

export function paragraph(kind, text) {
  const element = document.createElement("p");
  element.className = kind;
  element.textContent = text;
  return element;
}

// The server escapes all that people, apps and the model say.
function drawn(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

function focusIn(element) {
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  if (focused?.dataset.action) return `[data-action="${CSS.escape(focused.dataset.action)}"]`;
  if (focused?.dataset.do) return `[data-do="${CSS.escape(focused.dataset.do)}"]`;
  return null;
}

function continues(previous, article) {
  const gap = Number(article.dataset.ts) - Number(previous.dataset.ts);
  const isPlain = !previous.querySelector(".replies") && !article.matches(".is-ephemeral");
  return isPlain && gap < GROUP_SECONDS && previous.dataset.author === article.dataset.author;
}

function setTimes(article) {
  for (const time of article.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    time.textContent = hour.format(at);
    time.title = `${day.format(at)}, ${hour.format(at)}`;
  }
}

function dayOf(article) {
  const at = new Date(Number(article.dataset.ts) * 1000);
  return at.toDateString() === new Date().toDateString() ? "Today" : day.format(at);
}

function divider(words) {
  const element = document.createElement("div");
  element.className = "day";
  element.append(Object.assign(document.createElement("span"), { textContent: words }));
  return element;
}
