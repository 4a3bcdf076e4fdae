// What is drawn around the messages: conversations, people, and what to try.

import { faceOf, make } from "./composer.js";
import { paragraph } from "./messages.js";

const HANDLES = [
  "📎 Attach a file to what you ask: text, code, PDF, a picture.",
  "Stop an answer while it is written, and Continue it.",
  "✎ Edit what you asked: the answer begins anew, or is offered again.",
  "✨ asks about any message, and 🔍 reviews the code in it.",
];
const NOTES = { guest: " (guest)", outside: " (another company)" };

export function about(place) {
  if (place.with) return place.kind === "app" ? "App" : "";
  const notes = [`${place.members} members`];
  if (!place.has_bot) notes.push("kimibot is not here");
  if (place.is_shared) notes.push("shared with another company");
  return notes.join(" · ");
}

// The bot first: it is whom one mostly wants to mention.
export function mentionable({ viewer, people }) {
  const app = { name: "kimibot", real_name: "kimibot", kind: "app" };
  return [app, ...people.filter((one) => one.id !== viewer)];
}

// Whether the bot answers it although nobody has said so before.
export function isForBot(text, place, bot) {
  return place.with === bot || (place.has_bot && /(^|[^\w])@kimibot\b/i.test(text));
}

export function conversationEntry(place, { isHere, news }) {
  const button = make("button", { type: "button" });
  button.dataset.channel = place.id;
  button.append(place.with ? face(place) : sign(place), name(place));
  const note = place.with ? place.kind : place.closed;
  if (note) button.append(make("span", { className: "note", textContent: note }));
  if (news) {
    const badge = make("span", { className: "news", textContent: news });
    badge.setAttribute("aria-label", `${news} new`);
    button.append(badge);
    button.classList.add("is-unread");
  }
  if (isHere) button.setAttribute("aria-current", "page");
  return item(button);
}

export function viewerOptions(people) {
  return people.map(({ id, real_name, kind }) =>
    make("option", { value: id, textContent: real_name + (NOTES[kind] ?? "") }),
  );
}

export function guide(groups, onPick) {
  const intro =
    "Pick one to put it into the message box, then press Enter. The answer comes in a thread.";
  const lists = groups.flatMap((group) => {
    const list = document.createElement("ul");
    list.append(...group.examples.map((example) => exampleEntry(example, onPick)));
    return [make("h3", { textContent: group.title }), list];
  });
  return [paragraph("intro", intro), ...lists.slice(0, -2), ...handles(), ...lists.slice(-2)];
}

// What is done with a message, and not by typing.
function handles() {
  const list = document.createElement("ul");
  list.className = "handles";
  list.append(...HANDLES.map((words) => item(words)));
  return [make("h3", { textContent: "More than typing" }), list];
}

function exampleEntry(example, onPick) {
  const button = make("button", { type: "button", className: "example" });
  const words = example.text.replace(/```\w*/g, "").replace(/\s+/g, " ");
  const what = make("strong", { textContent: words });
  button.append(what, make("span", { textContent: example.shows }));
  button.addEventListener("click", () => onPick(example));
  return item(button);
}

function face(person) {
  const element = make("span", { className: `face ${faceOf(person)}` });
  element.textContent = person.kind === "app" ? "" : person.initials;
  element.setAttribute("aria-hidden", "true");
  return element;
}

function sign(channel) {
  const element = make("span", { className: "sign" });
  element.textContent = channel.is_private ? "🔒" : "#";
  element.setAttribute("aria-hidden", "true");
  return element;
}

function name(place) {
  return make("span", { className: "name", textContent: place.with ? place.real_name : place.name });
}

function item(content) {
  const element = document.createElement("li");
  element.append(content);
  return element;
}
