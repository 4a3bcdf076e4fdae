// The page: who looks, at which conversation and thread, and what then happens.

import { Composer, faceOf } from "./composer.js";
import { edit } from "./editing.js";
import { about, conversationEntry, guide, isForBot, mentionable, viewerOptions } from "./frame.js";
import { MessageList } from "./messages.js";
import { listen, look, order } from "./server.js";

const at = (id) => document.getElementById(id);
const here = { viewer: "", channel: "", thread: "" };
const unread = new Map();
const drafts = new Map();
const narrow = window.matchMedia("(max-width: 1000px)");
let isGuideOpen = !narrow.matches;
let focusNext = null;
let state = null;
let asked = null; // the channel and thread in which the bot was last asked
let stopListening = () => {};

const channelList = new MessageList(at("messages"), { emptyText: "Nothing has been said here yet." });
const threadList = new MessageList(at("thread"));
const composer = new Composer(at("write"), {
  onSend: (text, files) => say(text, files, ""),
  onEditLast: () => editLast(channelList),
});
const replyComposer = new Composer(at("reply"), {
  onSend: (text, files) => say(text, files, here.thread),
  onEditLast: () => editLast(threadList),
});

// Where we are is in the address, so that back, forward and reload do what one expects.

function go(change) {
  location.hash = addressOf({ ...here, ...change });
}

function addressOf({ viewer, channel, thread }) {
  return `#${[viewer, channel, thread].filter(Boolean).join("/")}`;
}

async function arrive() {
  const [named, channel = "", thread = ""] = location.hash.slice(1).split("/");
  const viewer = named || "ana";
  const isNewViewer = viewer !== here.viewer || !state;
  const known = isNewViewer ? await look("state", { as: viewer }) : state;
  const conversations = [...known.channels, ...known.directs];
  const found = conversations.find((one) => one.id === channel) ?? conversations[0];
  const isNewChannel = isNewViewer || found.id !== here.channel;
  const isNewThread = isNewChannel || thread !== here.thread;
  const draft = here.channel;
  state = known;
  Object.assign(here, { viewer: state.viewer, channel: found.id, thread: found.id === channel ? thread : "" });
  history.replaceState(null, "", addressOf(here));
  unread.delete(here.channel);
  drawFrame();
  if (isNewChannel) changeDraft(draft);
  if (isNewViewer) startListening();
  else if (isNewChannel) await loadChannel();
  if (isNewThread && !isNewViewer) await loadThread();
  focusNext?.focus();
  focusNext = null;
}

// What one has begun to write stays with its channel.
function changeDraft(old) {
  if (old) drafts.set(old, composer.text);
  composer.text = drafts.get(here.channel) ?? "";
}

function startListening() {
  stopListening();
  unread.clear();
  stopListening = listen(here.viewer, {
    onReady: async () => {
      at("offline").hidden = true;
      await loadChannel();
      await loadThread();
    },
    onChange: changed,
    onLost: () => (at("offline").hidden = false),
  });
}

function loadChannel() {
  return load(channelList, "channel", { as: here.viewer, channel: here.channel });
}

async function loadThread() {
  if (!here.thread) return;
  await load(threadList, "thread", { as: here.viewer, channel: here.channel, ts: here.thread });
}

// What changes while we look may be newer than what we are then shown.
async function load(list, view, query) {
  const changes = (list.meanwhile = []);
  const messages = await look(view, query);
  if (list.meanwhile !== changes) return; // we have begun to look at something else
  list.meanwhile = null;
  list.show(messages);
  changes.forEach((message) => apply(list, message));
}

// What changes

function changed(message) {
  const isReply = message.root !== message.ts;
  if (message.channel !== here.channel) {
    if (message.kind === "added") count(message.channel);
    return;
  }
  if (!isReply) apply(channelList, message);
  if (message.root === here.thread) apply(threadList, message);
  if (isReply && message.kind === "added") at("status").textContent = "There is a new reply.";
}

function apply(list, message) {
  list.meanwhile?.push(message);
  if (message.kind === "deleted") list.remove(message.ts);
  else list.put(message);
}

function count(channel) {
  unread.set(channel, (unread.get(channel) ?? 0) + 1);
  drawConversations();
}

// What one does

async function say(text, files, thread) {
  const what = { as: here.viewer, channel: here.channel, text, files, thread_ts: thread };
  const isAsk = isForBot(text, conversation(), state.bot);
  const { ts } = await order("say", what);
  if (isAsk) asked = { viewer: what.as, channel: what.channel, thread: thread || ts };
  (thread ? threadList : channelList).scrollToEnd();
  const isStillHere = what.as === here.viewer && what.channel === here.channel;
  if (isAsk && !thread && isStillHere) openToReply(ts);
}

// The answer comes there, and what one writes next belongs there.
function openToReply(thread, channel = here.channel) {
  focusNext = replyComposer;
  go({ channel, thread });
}

async function act(article, name, button) {
  const what = { as: here.viewer, channel: here.channel, ts: article.dataset.ts };
  if (name === "thread") {
    openToReply(article.dataset.root);
  } else if (name === "shortcut") {
    await order("shortcut", { ...what, callback_id: button.dataset.callback });
  } else if (name === "edit") {
    await edit(article, what, complain);
  } else if (name === "delete" && (await confirmed(DELETION, "danger"))) {
    await order("delete", what);
  }
}

// A menu shows its label again afterwards: the same may be chosen once more.
async function press(handle, article) {
  if (handle.dataset.title && !(await confirmed(handle.dataset, "primary"))) return;
  const value = handle.matches("select") ? { value: handle.value } : {};
  handle.disabled = true;
  try {
    const what = { as: here.viewer, channel: here.channel, ts: article.dataset.ts };
    await order("click", { ...what, action_id: handle.dataset.action, ...value });
  } finally {
    handle.disabled = false;
    if (value.value) handle.selectedIndex = 0;
  }
}

function editLast(list) {
  const article = list.lastOf(here.viewer);
  if (article?.querySelector('[data-do="edit"]')) act(article, "edit").catch(complain);
}

const DELETION = {
  title: "Delete this message?",
  text: "Nobody will see it any more.",
  yes: "Delete",
  no: "Keep it",
};

function confirmed(question, style) {
  const dialog = at("ask");
  for (const name of ["title", "text", "yes", "no"]) at(`ask-${name}`).textContent = question[name];
  at("ask-yes").className = `press is-${style}`;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

function suggest({ text, in_thread: isFollowUp }) {
  if (isFollowUp && asked?.viewer === here.viewer) {
    replyComposer.text = text;
    return openToReply(asked.thread, asked.channel);
  }
  const place = conversation();
  const isDirect = place.with === state.bot;
  const words = isDirect ? text : `@kimibot ${text}`;
  if (narrow.matches) showGuide(false);
  if (isDirect || (place.has_bot && !place.closed)) return composer.fill(words);
  const first = state.channels.find((one) => one.has_bot && !one.closed);
  drafts.set(first.id, words);
  focusNext = composer;
  return go({ channel: first.id, thread: "" });
}

function showGuide(isOpen) {
  isGuideOpen = isOpen;
  drawPane();
}

async function copy(button) {
  const code = button.closest("figure").querySelector("code").textContent;
  await navigator.clipboard.writeText(code);
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

// What is drawn around the messages

function conversation() {
  return [...state.channels, ...state.directs].find((one) => one.id === here.channel);
}

function drawFrame() {
  const place = conversation();
  const title = place.with ? place.real_name : `${place.is_private ? "🔒 " : "# "}${place.name}`;
  at("team").textContent = state.team;
  at("title").textContent = title;
  at("about").textContent = about(place);
  document.title = `${title} – ${state.team}`;
  drawConversations();
  drawViewers();
  drawPane();
  const people = mentionable(state);
  const closed = place.closed ? `#${place.name} is ${place.closed}: nobody can write here` : "";
  const placeholder = `Message ${place.with ? place.real_name : `#${place.name}`}`;
  composer.set({ placeholder, people, closed });
  replyComposer.set({ placeholder: "Reply…", people, closed });
}

function drawConversations() {
  const focused = document.activeElement?.dataset.channel;
  const shown = (place) =>
    conversationEntry(place, { isHere: place.id === here.channel, news: unread.get(place.id) });
  at("channels").replaceChildren(...state.channels.map(shown));
  at("directs").replaceChildren(...state.directs.map(shown));
  if (focused) at("sidebar").querySelector(`[data-channel="${CSS.escape(focused)}"]`)?.focus();
}

function showSidebar(isOpen) {
  at("app").classList.toggle("shows-sidebar", isOpen);
  at("menu").setAttribute("aria-expanded", String(isOpen));
}

function drawViewers() {
  at("viewer").replaceChildren(...viewerOptions(state.people));
  at("viewer").value = here.viewer;
  const me = state.people.find((person) => person.id === here.viewer);
  at("my-face").className = `face ${faceOf(me)}`;
  at("my-face").textContent = me.initials;
}

function drawPane() {
  const hasThread = Boolean(here.thread);
  const isShown = hasThread || isGuideOpen;
  at("pane-title").textContent = hasThread ? "Thread" : "What to try";
  at("pane-about").textContent = hasThread ? at("title").textContent : "";
  at("thread").hidden = at("reply").hidden = !hasThread;
  at("guide").hidden = hasThread;
  at("app").classList.toggle("has-pane", isShown);
  at("app").classList.toggle("has-thread", hasThread);
  at("open-guide").setAttribute("aria-expanded", String(isShown && !hasThread));
  if (!at("guide").hasChildNodes()) at("guide").append(...guide(state.examples, suggest));
}

// Wiring

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const article = button?.closest("article");
  if (!article) return;
  const done = button.matches(".copy") ? copy(button)
    : button.dataset.action !== undefined ? press(button, article)
    : button.dataset.do ? act(article, button.dataset.do, button)
    : null;
  done?.catch(complain);
});
document.addEventListener("change", (event) => {
  const menu = event.target.closest("article select[data-action]");
  if (menu) press(menu, menu.closest("article")).catch(complain);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || at("ask").open) return;
  if (at("app").classList.contains("shows-sidebar")) showSidebar(false);
  else if (here.thread) go({ thread: "" });
});
at("sidebar").addEventListener("click", (event) => {
  const button = event.target.closest("[data-channel]");
  if (!button) return;
  showSidebar(false);
  focusNext = composer;
  go({ channel: button.dataset.channel, thread: "" });
});
at("viewer").addEventListener("change", (event) => {
  go({ viewer: event.target.value, thread: "" });
});
at("close-pane").addEventListener("click", () => {
  if (here.thread) go({ thread: "" });
  else showGuide(false);
});
at("open-guide").addEventListener("click", () => {
  showGuide(Boolean(here.thread) || !isGuideOpen);
  if (here.thread) go({ thread: "" });
});
narrow.addEventListener("change", () => showGuide(!narrow.matches));
at("menu").addEventListener("click", () => {
  showSidebar(!at("app").classList.contains("shows-sidebar"));
});
window.addEventListener("hashchange", () => arrive().catch(lost));

function complain(error) {
  at("status").textContent = error.message;
}

function lost(error) {
  complain(error);
  at("offline").hidden = false;
}

focusNext = composer;
arrive().catch(lost);
