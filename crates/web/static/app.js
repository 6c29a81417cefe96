// The pages' only script. Without it the pages can still be read and written in.
"use strict";
(() => {
  const find = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  /** Shows times in the person's own zone. */
  function localTimes(root) {
    for (const element of all("time[datetime]", root)) {
      const at = new Date(element.dateTime);
      if (isNaN(at)) continue;
      const today = at.toDateString() === new Date().toDateString();
      const clock = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      element.textContent = today ? clock : at.toLocaleDateString() + " " + clock;
      element.title = at.toLocaleString();
    }
  }
  localTimes(document);
  document.addEventListener("focusin", (event) => {
    if (event.target.matches("input.copy")) event.target.select();
  });

  const app = find("#app");
  if (!app) return;
  const { chat, workspace } = app.dataset;
  const number = (name) => Number(app.dataset[name]);
  const log = find("#log"), main = find("#main"), link = find("#link");
  const announcer = find("#announce"), panel = find("#tasks");
  const form = find("#composer"), text = find("#text"), problemLine = find("#problem");
  const base = `/cells/${workspace}/v1`;

  // ---- The conversation

  const nearEnd = () => main.scrollHeight - main.scrollTop - main.clientHeight < 120;
  const toEnd = () => { main.scrollTop = main.scrollHeight; };
  /** Changes the conversation; who was at its end stays there. */
  function keepingEnd(change) {
    const follow = nearEnd();
    const result = change();
    if (follow) toEnd();
    return result;
  }
  let atEnd = true;
  main.addEventListener("scroll", () => { atEnd = nearEnd(); });
  // Panels and keyboards change its height.
  new ResizeObserver(() => { if (atEnd) toEnd(); }).observe(main);
  const announce = (words) => { announcer.textContent = words; };
  /** Shows what nobody would see: what the server does with the whole answer, for its pieces. */
  const legible = (words) => words.replace(/[\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu, "\ufffd");
  const byData = (name, value, root = log) => find(`[data-${name}="${CSS.escape(value)}"]`, root);

  function fromHtml(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    localTimes(template.content);
    return template.content;
  }

  function addEntry(node) {
    find("#greeting")?.remove();
    keepingEnd(() => log.append(node));
  }

  /** The place of a turn's answer, made when it is first needed. */
  function answerOf(turn) {
    let entry = byData("answer", turn);
    if (!entry) {
      entry = make("article", "entry agent working");
      entry.dataset.answer = turn;
      entry.setAttribute("aria-label", "Agent");
      entry.append(make("div", "text"), make("p", "hint", "Working on it…"));
      addEntry(entry);
      fetchQuestion(turn, entry);
    }
    showStop();
    return entry;
  }

  /** Another page sent the message that this answers: show it too. */
  async function fetchQuestion(turn, entry) {
    if (byData("turn", turn) || !/^t-m\d+$/.test(turn)) return;
    const response = await fetch(`/chats/${chat}/message/${turn}`).catch(() => null);
    if (!response?.ok) return;
    const question = find("article", fromHtml(await response.text()));
    if (!question || byData("turn", turn)) return;
    const own = byData("id", question.dataset.id);
    if (own) taken(question.dataset.id, turn);
    else keepingEnd(() => (byData("answer", turn) ?? entry).before(question));
  }

  function showStop() {
    const button = find("#stop");
    if (button) button.hidden = !find(".working", log);
  }

  // ---- Messages on their way

  const waiting = new Map();
  const storeKey = `cloister-pending-${workspace}-${chat}`;
  function remember() {
    try { sessionStorage.setItem(storeKey, JSON.stringify([...waiting.values()])); } catch { /* private mode */ }
  }
  function remembered() {
    try { return JSON.parse(sessionStorage.getItem(storeKey)) ?? []; } catch { return []; }
  }

  function newId() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return "web-" + [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  function say(words, attachments = []) {
    const message = { type: "message", id: newId(), text: words, attachments };
    showMessage(message);
    waiting.set(message.id, message);
    remember();
    sayNext();
    toEnd();
  }

  // One message is on its way at a time, so that nothing overtakes one that is refused for a while.
  let onItsWay = null, held = 0;
  function sayNext() {
    if (onItsWay || held) return;
    const [message] = waiting.values();
    if (message && send(message)) onItsWay = message.id;
  }
  /** Whatever was on its way is said again: nobody knows whether it was heard. */
  function sayAgain() {
    clearTimeout(held);
    held = 0;
    onItsWay = null;
    sayNext();
  }
  /** A message that has its answer makes way for the next. */
  function makeWay(id) {
    waiting.delete(id);
    remember();
    if (onItsWay === id) onItsWay = null;
    sayNext();
  }

  function showMessage(message) {
    const entry = make("article", "entry person pending");
    entry.dataset.id = message.id;
    entry.setAttribute("aria-label", "You");
    if (message.text) entry.append(make("div", "text", message.text));
    if (message.attachments.length) {
      const list = make("ul", "files");
      list.setAttribute("aria-label", "Files");
      for (const file of message.attachments) {
        const item = make("li");
        item.append(make("span", "file", `${file.name} (${size(file.size)})`));
        list.append(item);
      }
      entry.append(list);
    }
    const at = make("time");
    at.dateTime = new Date().toISOString();
    entry.append(at);
    localTimes(entry);
    addEntry(entry);
  }

  /** The message is stored; its answer will come in this turn. */
  function taken(id, turn) {
    makeWay(id);
    const entry = byData("id", id);
    if (!entry) return;
    entry.classList.remove("pending");
    find(".failed", entry)?.remove();
    entry.dataset.turn = turn;
  }

  function refused(frame) {
    // Without a name it is about what could not be read.
    frame.id ??= onItsWay;
    const message = waiting.get(frame.id);
    if (!message) {
      const question = frame.id && byData("approval", frame.id);
      if (question) reopenQuestion(question, frame.message);
      else problem(frame.message);
      return;
    }
    const entry = byData("id", frame.id);
    find(".failed", entry)?.remove();
    entry.append(make("p", "failed", frame.message));
    if (frame.retry_after_s) {
      held ||= setTimeout(sayAgain, frame.retry_after_s * 1000);
      return;
    }
    makeWay(frame.id);
    if (text && !text.value) { text.value = message.text; grow(); }
    announce("Not sent: " + frame.message);
  }

  // ---- The socket

  let socket = null, after = number("after"), tries = 0, timer = 0, heardAt = 0;
  const connected = () => socket?.readyState === WebSocket.OPEN;

  function send(frame) {
    if (!connected()) return false;
    socket.send(JSON.stringify(frame));
    return true;
  }
  function sendNow(frame) {
    const sent = send(frame);
    if (!sent) problem("You are not connected. Try again in a moment.");
    return sent;
  }

  function connect() {
    clearTimeout(timer);
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const own = new WebSocket(`${scheme}//${location.host}${base}/agent_ws/${chat}/?html=1&after=${after}`);
    socket = own;
    own.onopen = () => {
      tries = 0;
      heardAt = Date.now();
      link.textContent = "";
      app.dataset.link = "open";
      sayAgain();
    };
    own.onmessage = (event) => {
      heardAt = Date.now();
      hear(JSON.parse(event.data));
    };
    own.onclose = (event) => { if (socket === own) lost(event.code === 1008); };
  }

  async function lost(ended) {
    socket = null;
    app.dataset.link = "lost";
    link.textContent = "Not connected";
    if (ended || tries > 0) {
      // A session that has ended looks like a server that is down, until it is asked.
      const options = { headers: { accept: "application/json" } };
      const answer = await fetch(`/chats/${chat}/older?inbox=0&outbox=0`, options).catch(() => null);
      if (answer?.status === 401) return location.assign("/login");
    }
    const wait = Math.min(15000, 250 * 2 ** tries) * (0.75 + Math.random() / 2);
    tries += 1;
    link.textContent = wait > 1500 ? `Not connected, trying again in ${Math.round(wait / 1000)} s` : "Reconnecting…";
    timer = setTimeout(connect, wait);
  }

  /** After a sleep a dead connection can look alive: make a new one. */
  function wake() {
    if (document.hidden || (connected() && Date.now() - heardAt < 30000)) return;
    const old = socket;
    socket = null;
    old?.close();
    tries = 0;
    connect();
  }
  document.addEventListener("visibilitychange", wake);
  addEventListener("online", wake);
  addEventListener("pageshow", (event) => event.persisted && wake());

  // ---- What the agent says

  function hear(frame) {
    if (frame.row && frame.row <= after && !(frame.turn && byData("answer", frame.turn))) return;
    const handle = HANDLERS[frame.type];
    if (handle) handle(frame);
    if (frame.row > after && frame.type !== "text_chunk" && frame.kind !== "restart") after = frame.row;
  }

  const HANDLERS = {
    accepted(frame) {
      taken(frame.id, frame.turn);
      answerOf(frame.turn);
    },
    text_chunk(frame) {
      const entry = answerOf(frame.turn);
      if (!entry.classList.contains("working")) return;
      // A new connection brings an answer again from its beginning; one with a gap comes whole with its end.
      if (frame.seq === 0) find(".text", entry).textContent = "";
      else if (frame.seq !== Number(entry.dataset.next)) return;
      entry.dataset.next = frame.seq + 1;
      keepingEnd(() => find(".text", entry).append(legible(frame.text)));
    },
    tool_call(frame) {
      if (frame.task) taskNote(frame.task, frame.name);
      else if (frame.turn) working(answerOf(frame.turn), `Working: ${frame.name}…`);
    },
    update(frame) { UPDATES[frame.kind]?.(frame); },
    ask(frame) {
      addEntry(fromHtml(frame.html));
      announce("Question: " + frame.title);
    },
    send_file(frame) {
      addEntry(fromHtml(frame.html));
      announce("File: " + frame.name);
    },
    end(frame) {
      const entry = answerOf(frame.turn);
      const answer = fromHtml(frame.html);
      const words = find(".text", answer).textContent;
      keepingEnd(() => entry.replaceWith(answer));
      showStop();
      announce("Agent: " + words.trim().slice(0, 400));
    },
    error: refused,
  };

  const UPDATES = {
    restart(frame) { find(".text", answerOf(frame.turn)).textContent = ""; },
    task: showTask,
    progress(frame) {
      if (frame.task) return taskNote(frame.task, frame.text);
      const last = all(".working", log).pop();
      if (last) working(last, frame.text);
    },
    notice(frame) { tell(frame, frame.text); },
    answered: showAnswer,
    blocked(frame) { tell(frame, `${frame.host} was not reached: ${frame.reason}`); },
    todos(frame) {
      const list = find(".todos", taskItem(frame.task));
      list.replaceChildren(...frame.todos.map((todo) => {
        const item = make("li", todo.state, todo.text);
        if (todo.state !== "open") item.append(make("span", "unseen", ` (${todo.state})`));
        return item;
      }));
    },
  };

  function working(entry, words) {
    const hint = find(".hint", entry);
    if (hint) hint.textContent = words;
  }
  function tell(frame, words) {
    addEntry(frame.html ? fromHtml(frame.html) : make("p", "entry notice", words));
    announce(words);
  }

  // ---- Tasks

  function taskItem(id) {
    let item = byData("task", id, panel);
    if (item) return item;
    item = make("li", "task");
    item.dataset.task = id;
    const head = make("div", "head");
    const cancel = make("button", "small", "Cancel");
    cancel.type = "button";
    cancel.dataset.cancel = id;
    head.append(make("span", "title", id), make("span", "state"), cancel);
    item.append(head, make("p", "note"), make("ul", "todos"));
    find("ul", panel).append(item);
    panel.hidden = false;
    return item;
  }

  function taskNote(id, words) { find(".note", taskItem(id)).textContent = words; }

  function showTask(frame) {
    const final = ["done", "failed", "cancelled"].includes(frame.state);
    if (final && !byData("task", frame.task, panel)) return;
    const item = taskItem(frame.task);
    item.dataset.state = frame.state;
    find(".title", item).textContent = frame.title;
    find(".state", item).textContent = frame.state;
    find("button", item).setAttribute("aria-label", "Cancel " + frame.title);
    if (frame.note) taskNote(frame.task, frame.note);
    if (!final) return;
    for (const question of all(`.ask[data-task="${CSS.escape(frame.task)}"]`, log)) {
      if (find("form", question)) closeQuestion(question, "The task has ended.");
    }
    find("button", item).disabled = true;
    setTimeout(() => {
      item.remove();
      panel.hidden = !find("li", panel);
    }, 4000);
  }

  // ---- Questions

  const DEEDS = {
    allow: "allowed it once", allow_for_task: "allowed it for this task", allow_always: "allowed it always in this chat",
    deny: "denied it", deny_and_stop: "denied it and stopped the task",
  };

  /** Somebody answered, here or anywhere else. */
  function showAnswer(frame) {
    const question = byData("approval", frame.approval);
    if (!question) return;
    const words = `${frame.by} ${DEEDS[frame.answer] ?? "answered"}.`;
    announce(words);
    if (frame.left === 0) return closeQuestion(question, words);
    const people = frame.left === 1 ? "One more person" : `${frame.left} more people`;
    find(".answers", question).replaceChildren(make("p", "hint", words), make("p", "hint", `${people} must answer.`));
    for (const button of all("button", question)) button.disabled = false;
  }

  function closeQuestion(question, words) {
    find(".answers", question)?.append(make("p", "hint", words));
    find("form", question)?.remove();
  }

  /** An answer was not taken: say why, and let it be given again. */
  function reopenQuestion(question, words) {
    find(".answers", question)?.replaceChildren(make("p", "error", words));
    for (const button of all("button", question)) button.disabled = false;
  }

  // Without a connection, or without this script, the browser sends the form.
  document.addEventListener("submit", (event) => {
    const question = event.target.closest(".ask");
    const answer = event.submitter?.value;
    if (!question || !answer || !connected()) return;
    event.preventDefault();
    const digest = find("input[name=digest]", question).value;
    send({ type: "approval", id: question.dataset.approval, answer, digest });
    for (const button of all("button", question)) button.disabled = true;
    text?.focus();
  });

  // ---- Buttons

  document.addEventListener("click", (event) => {
    const target = event.target.closest("button, a, .pop, summary");
    for (const more of all(".more[open]")) if (!more.contains(event.target)) more.open = false;
    if (document.body.classList.contains("drawer") && !find("#sidebar").contains(event.target) && target?.id !== "menu") drawer(false);
    if (!target) return;
    const { cancel, say: words, older } = target.dataset;
    if (cancel) { if (sendNow({ type: "cancel", task: cancel })) target.disabled = true; }
    else if (words) { target.closest(".entry").remove(); say(words); }
    else if (older !== undefined) { event.preventDefault(); showOlder(target); }
    else if (target.id === "cancel-all") sendNow({ type: "cancel" });
    else if (target.id === "menu") drawer(!document.body.classList.contains("drawer"));
    else if (target.id === "stop") stopTurns();
    else if (target.id === "attach") find("#files").click();
  });

  function stopTurns() {
    for (const entry of all(".working", log)) {
      if (!sendNow({ type: "cancel", turn: entry.dataset.answer })) return;
      working(entry, "Stopping…");
    }
  }

  async function showOlder(anchor) {
    const response = await fetch(anchor.href).catch(() => null);
    if (!response?.ok) return problem("Older messages could not be loaded. Try again in a moment.");
    const fragment = fromHtml(await response.text());
    const height = main.scrollHeight - main.scrollTop;
    anchor.closest(".older").replaceWith(fragment);
    main.scrollTop = main.scrollHeight - height;
  }

  function drawer(open) {
    document.body.classList.toggle("drawer", open);
    const menu = find("#menu");
    menu.setAttribute("aria-expanded", String(open));
    if (open) find("#sidebar a").focus();
    else if (find("#sidebar").contains(document.activeElement)) menu.focus();
  }

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (document.body.classList.contains("drawer")) { drawer(false); find("#menu").focus(); }
    for (const more of all(".more[open]")) { more.open = false; find("summary", more).focus(); }
    problem("");
  });

  // ---- Writing

  function problem(words) {
    if (!problemLine) return;
    problemLine.textContent = words;
    problemLine.hidden = !words;
  }
  function size(bytes) {
    const units = ["B", "kB", "MB", "GB"];
    let unit = 0;
    while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit += 1; }
    return (unit && bytes < 10 ? bytes.toFixed(1) : Math.floor(bytes)) + " " + units[unit];
  }
  function grow() {
    text.style.height = "auto";
    text.style.height = text.scrollHeight + "px";
  }

  const uploads = new Set();
  let sendWhenUp = false;

  function addFiles(files) {
    problem("");
    for (const file of files) {
      if (uploads.size >= number("maxFiles")) { problem(`At most ${number("maxFiles")} files can come with one message.`); break; }
      if (file.size > number("maxUpload")) { problem(`${file.name} is too large (${size(file.size)}): up to ${size(number("maxUpload"))} each are taken.`); continue; }
      upload(file);
    }
    text.focus();
  }

  function upload(file) {
    const item = make("li"), bar = make("progress"), stop = make("button", "small", "✕");
    bar.max = 100;
    bar.value = 0;
    bar.setAttribute("aria-label", "Sending " + file.name);
    stop.type = "button";
    stop.setAttribute("aria-label", "Remove " + file.name);
    item.append(make("span", "name", file.name), make("small", "", size(file.size)), bar, stop);
    find("#uploads").append(item);
    const request = new XMLHttpRequest();
    const entry = { item, request, attachment: null };
    uploads.add(entry);
    const drop = () => { uploads.delete(entry); item.remove(); request.abort(); sendIfUp(); };
    stop.onclick = () => { drop(); text.focus(); };
    request.upload.onprogress = (event) => { if (event.lengthComputable) bar.value = 100 * event.loaded / event.total; };
    request.onload = () => {
      let answer = null;
      try { answer = JSON.parse(request.responseText); } catch { /* said below */ }
      if (request.status !== 200 || !answer?.path) {
        drop();
        return problem(`${file.name} was not taken: ${answer?.error?.message ?? "the server answered " + request.status}`);
      }
      entry.attachment = answer;
      bar.replaceWith(make("span", "ok", "✓"));
      announce(file.name + " is ready to be sent");
      sendIfUp();
    };
    request.onerror = () => { drop(); problem(`${file.name} could not be sent. Check the connection and attach it again.`); };
    request.open("POST", `${base}/chats/${chat}/files?name=${encodeURIComponent(file.name)}`);
    request.send(file);
  }

  const uploading = () => [...uploads].some((entry) => !entry.attachment);
  function sendIfUp() {
    if (sendWhenUp && !uploading()) submit();
  }

  function submit() {
    sendWhenUp = false;
    const words = text.value.trim();
    if (!words && !uploads.size) return;
    if (new TextEncoder().encode(words).length > number("maxText")) return problem("The message is too long. Send it as a file.");
    if (uploading()) {
      sendWhenUp = true;
      return problem("The message is sent as soon as its files are.");
    }
    problem("");
    const attachments = [...uploads].map((entry) => entry.attachment);
    for (const entry of uploads) entry.item.remove();
    uploads.clear();
    text.value = "";
    grow();
    say(words, attachments);
  }

  if (form) {
    // A touch keyboard has no Shift+Enter: there, Enter is a new line.
    const touch = matchMedia("(pointer: coarse)").matches;
    if (touch) text.enterKeyHint = "enter";
    find("#attach").hidden = false;
    form.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
    text.addEventListener("input", grow);
    text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || touch) return;
      event.preventDefault();
      submit();
    });
    find("#files").addEventListener("change", (event) => { addFiles(event.target.files); event.target.value = ""; });
    text.addEventListener("paste", (event) => {
      if (!event.clipboardData.files.length) return;
      event.preventDefault();
      addFiles(event.clipboardData.files);
    });
    const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
    addEventListener("dragover", (event) => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      document.body.classList.add("dropping");
    });
    addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
    addEventListener("drop", (event) => {
      document.body.classList.remove("dropping");
      if (!carriesFiles(event)) return;
      event.preventDefault();
      addFiles(event.dataTransfer.files);
    });
    if (!touch) text.focus({ preventScroll: true });
  }

  for (const message of remembered()) {
    if (byData("id", message.id)) continue;
    waiting.set(message.id, message);
    showMessage(message);
  }
  remember();
  toEnd();
  showStop();
  connect();
})();
