// The pages' only script. Without it the pages can still be read and written in.
"use strict";
(() => {
  const find = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  /** Shows what nobody would see: what the server does with the whole answer, for its pieces. */
  const legible = (words) => String(words).replace(/[\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu, "\ufffd");
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = legible(text);
    return element;
  };

  // The sentences of this file in the language of the page: the server puts them here.
  const SENTENCES = {};
  /** A sentence in the language of the page, with what it names put in. */
  const say = (text, given = {}) => (SENTENCES[text] ?? text).replace(/\{(\w+)\}/g, (all, name) => given[name] ?? all);

  // English is written in many ways: there the browser's own counts.
  const { lang } = document.documentElement, locale = lang === "en" ? [] : lang;

  /** Shows times in the person's own zone. */
  function localTimes(root) {
    for (const element of all("time[datetime]", root)) {
      const at = new Date(element.dateTime);
      if (isNaN(at)) continue;
      const today = at.toDateString() === new Date().toDateString();
      const clock = at.toLocaleTimeString(locale, { hour: "2-digit", minute: "2-digit" });
      element.textContent = today ? clock : at.toLocaleDateString(locale) + " " + clock;
      element.title = at.toLocaleString(locale);
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
  const announcer = find("#announce"), strip = find("#tasks");
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
  const byData = (name, value, root = log) => find(`[data-${name}="${CSS.escape(value)}"]`, root);

  function fromHtml(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    localTimes(template.content);
    return template.content;
  }

  // One order, as things come and loaded anew: what was said and told stands as it came, an answer below its message,
  // a task below the answer that began it. An answer to no message, and what nobody has taken yet, come last until they are there.
  const floats = (entry) => entry.matches(".working") && !byData("turn", entry.dataset.answer);
  const comesLater = (entry) => waiting.has(entry.dataset.id) || floats(entry);
  const tasksOf = (turn) => all(`.task[data-began="${CSS.escape(turn)}"]`, log);
  function addEntry(node, before = comesLater) {
    find("#greeting")?.remove();
    keepingEnd(() => { log.insertBefore(node, [...log.children].find(before) ?? null); dress(log); });
  }
  function addBelow(above, node) {
    keepingEnd(() => { above.after(node); dress(log); });
  }

  /** The place of a turn's answer, made when it is first needed. */
  function answerOf(turn) {
    let entry = byData("answer", turn);
    if (!entry) {
      entry = make("article", "entry agent working");
      entry.dataset.answer = turn;
      entry.setAttribute("aria-label", say("Agent"));
      const words = make("div", "text");
      words.translate = false;
      entry.append(words, make("p", "hint", say("Working on it…")));
      const question = byData("turn", turn);
      if (question) addBelow(question, entry);
      else {
        addEntry(entry, () => false);
        fetchQuestion(turn, entry);
      }
    }
    showStop();
    return entry;
  }

  /** Another page sent the message that this answers: show it too. */
  async function fetchQuestion(turn, entry) {
    if (byData("turn", turn) || !BEGUN.test(turn)) return;
    const response = await fetch(`/chats/${chat}/message/${turn}`).catch(() => null);
    if (!response?.ok) return;
    const question = find("article", fromHtml(await response.text()));
    if (!question || byData("turn", turn)) return;
    const own = byData("id", question.dataset.id);
    if (own) return taken(question.dataset.id, turn);
    keepingEnd(() => (byData("answer", turn) ?? entry).before(question));
    foldEarlier(question.dataset.instead, question);
  }

  function showStop() {
    const button = find("#stop");
    if (button) button.hidden = !find(".working", log);
  }

  // ---- Messages on their way

  const waiting = new Map();
  // Pictures of this page's own, by the path of their upload.
  const pictures = new Map();
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

  /** A chat without a name is called by its first words, at once. */
  function nameChat(words) {
    const heading = find(".bar h1"), first = words.trim().split("\n")[0].slice(0, 60);
    if (heading.textContent !== say("Chat {id}", { id: chat }) || !first || first.startsWith("/")) return;
    const here = find(".chats [aria-current]");
    document.title = document.title.replace(heading.textContent, first);
    heading.textContent = first;
    if (here) find(".name", here).textContent = first;
  }

  /** The chat that is written in is at the top, below those that are pinned. */
  function riseChat() {
    const here = find(".chats > ul [aria-current]")?.parentElement;
    if (!here || find(".pin", here)) return;
    here.parentElement.insertBefore(here, [...here.parentElement.children].find((item) => !find(".pin", item)));
  }

  /** Sends a message: in place of an earlier one and all that came after it, if that one's turn is given. */
  function post(words, attachments = [], turn) {
    nameChat(words);
    riseChat();
    const message = { type: "message", id: newId(), text: words, attachments };
    // A command takes nothing back.
    if (turn && !words.startsWith("/")) message.instead = turn;
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
    entry.setAttribute("aria-label", say("You"));
    entry.translate = false;
    if (message.attachments.length) entry.dataset.files = JSON.stringify(message.attachments);
    if (message.text) entry.append(make("div", "text", message.text));
    if (message.attachments.length) {
      const list = make("ul", "files");
      list.setAttribute("aria-label", say("Files"));
      for (const file of message.attachments) {
        const item = make("li");
        const shown = make("a", "file", `${file.name} (${size(file.size)})`);
        shown.href = `${base}/chats/${chat}/incoming/${encodeURIComponent(file.path.split("/incoming/")[1] ?? "")}`;
        if (/^image\/(png|jpeg|gif|webp)$/.test(file.mime)) {
          shown.target = "_blank";
          shown.prepend(thumbnail(pictures.get(file.path) ?? shown.href, file.name));
        } else shown.download = file.name;
        if (/^audio\//.test(file.mime)) item.append(player(shown.href, file.name));
        item.append(shown);
        list.append(item);
      }
      entry.append(list);
    }
    const at = make("time");
    at.dateTime = new Date().toISOString();
    entry.append(at);
    localTimes(entry);
    addEntry(entry, floats);
    foldEarlier(message.instead, entry);
  }

  /** What a message takes the place of is folded above it, but for what still wants something of somebody. */
  function foldEarlier(turn, entry) {
    if (!turn) return;
    const first = byData("turn", turn);
    let from = first?.closest(".earlier") ?? first ?? find("#log > .entry");
    if (from?.previousElementSibling?.matches(".earlier")) from = from.previousElementSibling;
    const fold = make("details", "entry earlier");
    fold.append(make("summary", "", say("Earlier version")));
    for (let at = from; at && at !== entry; ) {
      const next = at.nextElementSibling;
      if (at.matches(".earlier")) {
        fold.append(...[...at.children].slice(1));
        at.remove();
      } else fold.append(at);
      at = next;
    }
    if (fold.children.length < 2) return;
    fold.open = !!find(".ask form, .task:not([data-state=done], [data-state=failed], [data-state=cancelled])", fold);
    keepingEnd(() => entry.before(fold));
  }

  /** The message is stored; its answer will come in this turn. */
  function taken(id, turn) {
    makeWay(id);
    const entry = byData("id", id);
    if (!entry) return;
    entry.classList.remove("pending");
    find(".failed", entry)?.remove();
    entry.dataset.turn = turn;
    // Its answer was faster.
    byData("answer", turn)?.before(entry);
    dress(log);
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
    // What it was to take the place of still stands.
    if (message.instead && entry.previousElementSibling?.matches(".earlier")) entry.previousElementSibling.open = true;
    if (frame.retry_after_s) {
      held ||= setTimeout(sayAgain, frame.retry_after_s * 1000);
      return;
    }
    makeWay(frame.id);
    // What was written is not lost, nor are the files that came along.
    if (text && !text.value) { text.value = message.text; grow(); message.attachments.forEach(attachAgain); }
    announce(say("Not sent: {why}", { why: frame.message }));
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
    if (!sent) problem(say("You are not connected. Try again in a moment."));
    return sent;
  }

  /** What is open here and may have ended meanwhile: nobody keeps that for who was not connected. */
  const openHere = () => [
    ...all(".task", log).filter((task) => !FINAL.includes(task.dataset.state)).map((task) => task.dataset.task),
    ...all(".ask form", log).map((form) => form.closest(".ask").dataset.approval),
  ].slice(-200).join(",");

  function connect() {
    clearTimeout(timer);
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const own = new WebSocket(`${scheme}//${location.host}${base}/agent_ws/${chat}/?html=1&after=${after}&shown=${openHere()}`);
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
    link.textContent = say("Not connected");
    if (ended || tries > 0) {
      // A session that has ended looks like a server that is down, until it is asked.
      const options = { headers: { accept: "application/json" } };
      const answer = await fetch(`/chats/${chat}/older?inbox=0&outbox=0`, options).catch(() => null);
      if (answer?.status === 401) return location.assign("/login");
    }
    const wait = Math.min(15000, 250 * 2 ** tries) * (0.75 + Math.random() / 2);
    tries += 1;
    link.textContent = wait > 1500 ? say("Not connected, trying again in {n} s", { n: Math.round(wait / 1000) }) : say("Reconnecting…");
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

  // ---- Answers that are being written: Markdown as far as it goes. The end brings what the server makes of it.

  const halves = new Map();
  let sketching = 0;
  /** Soon, and less often the more there is to show. */
  function sketchSoon(turn) {
    sketching ||= setTimeout(() => {
      sketching = 0;
      for (const [open, text] of halves) {
        const entry = byData("answer", open);
        if (!entry?.classList.contains("working")) { halves.delete(open); continue; }
        const place = find(".text", entry);
        place.classList.add("rich");
        keepingEnd(() => place.replaceChildren(sketch(legible(text), 0)));
      }
    }, Math.max(40, (halves.get(turn)?.length ?? 0) / 200));
  }

  const FENCE = /^\s*(`{3,}|~{3,})\s*([\w+#.-]*)/, ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(\s+|$)(.*)/;
  const RULE = /^\s*([-*_])(\s*\1){2,}\s*$/, ROW = /^\s*\|.*\|\s*$/, HEADING = /^(#{1,6})\s+(.*)/;
  const begins = (line) => !line.trim() || FENCE.test(line) || ITEM.test(line) || HEADING.test(line) || ROW.test(line) || /^\s*>/.test(line);

  /** Text as nodes: nothing in it is ever read as HTML. */
  function sketch(source, depth) {
    const out = document.createDocumentFragment(), lines = source.split("\n");
    const takeWhile = (fits) => { const taken = []; while (lines.length && fits(lines[0])) taken.push(lines.shift()); return taken; };
    if (depth > 8) { out.append(source); return out; }
    while (lines.length) {
      const line = lines[0];
      let found;
      if (!line.trim()) lines.shift();
      else if ((found = FENCE.exec(line))) {
        lines.shift();
        const body = takeWhile((next) => !next.trim().startsWith(found[1]));
        lines.shift();
        const pre = make("pre"), code = make("code", found[2] ? "language-" + found[2].toLowerCase() : "", body.join("\n"));
        pre.append(code);
        out.append(pre);
        highlight(code);
      } else if ((found = HEADING.exec(line))) {
        lines.shift();
        out.append(inline(make("h" + found[1].length), found[2]));
      } else if (RULE.test(line)) {
        lines.shift();
        out.append(make("hr"));
      } else if (/^\s*>/.test(line)) {
        const quote = make("blockquote"), said = takeWhile((next) => /^\s*>/.test(next));
        quote.append(sketch(said.map((next) => next.replace(/^\s*> ?/, "")).join("\n"), depth + 1));
        out.append(quote);
      } else if ((found = ITEM.exec(line))) out.append(list(lines, found, depth));
      else if (ROW.test(line)) {
        const table = make("table");
        for (const row of takeWhile((next) => ROW.test(next))) {
          if (/^[\s|:-]+$/.test(row)) continue;
          const cells = row.trim().slice(1, -1).split("|"), tr = make("tr");
          for (const cell of cells) tr.append(inline(make(table.firstChild ? "td" : "th"), cell.trim()));
          table.append(tr);
        }
        out.append(table);
      } else {
        const words = [lines.shift(), ...takeWhile((next) => !begins(next))], p = make("p");
        words.forEach((next, at) => { if (at) p.append(make("br")); inline(p, next); });
        out.append(p);
      }
    }
    return out;
  }

  function list(lines, first, depth) {
    const indent = first[1].length, ordered = /\d/.test(first[2]), items = make(ordered ? "ol" : "ul");
    if (ordered) items.start = parseInt(first[2], 10);
    let found;
    while (lines.length && (found = ITEM.exec(lines[0])) && found[1].length === indent && /\d/.test(found[2]) === ordered) {
      lines.shift();
      const inside = [found[4]], item = make("li");
      while (lines.length && (/^\s*$/.test(lines[0]) ? /^\s+\S/.test(lines[1] ?? "") && lines[1].search(/\S/) > indent : lines[0].search(/\S/) > indent)) inside.push(lines.shift().slice(indent + 2));
      const content = sketch(inside.join("\n"), depth + 1);
      if (content.firstChild?.nodeName === "P") content.firstChild.replaceWith(...content.firstChild.childNodes);
      item.append(content);
      items.append(item);
    }
    return items;
  }

  const INLINE = /(`+)([^`]+)\1|\*\*(\S(?:.*?\S)?)\*\*|\*([^\s*](?:[^*]*[^\s*])?)\*|~~(.+?)~~|!?\[([^\]]*)\]\(([^)\s]*)\)/;
  function inline(into, text) {
    let found;
    while ((found = INLINE.exec(text))) {
      into.append(text.slice(0, found.index));
      if (found[2]) into.append(make("code", "", found[2]));
      else if (found[3]) into.append(inline(make("strong"), found[3]));
      else if (found[4]) into.append(inline(make("em"), found[4]));
      else if (found[5]) into.append(inline(make("del"), found[5]));
      // Where a link leads is known when it is whole.
      else into.append(found[6] || found[7]);
      text = text.slice(found.index + found[0].length);
    }
    into.append(text);
    return into;
  }

  // ---- Code

  const WORDS = new Set(("abstract and as assert async await begin bool boolean break case catch char class const continue def default defer del delete do done double elif else elsif end enum esac except export extends extern false fi final finally float fn for from func function global go goto if impl implements import in include instanceof int interface is lambda let local long loop match mod module mut namespace new nil none not null of or package pass private protected pub public raise ref return self select short static string struct super switch then this throw trait true try type typedef typeof union unless unsafe until use using var void where while with yield insert into update values set create table join left right inner outer on group by order limit").split(" "));
  const HASHES = /^(py|python|sh|bash|shell|zsh|console|ruby|rb|perl|pl|r|yaml|yml|toml|ini|make|makefile|dockerfile|elixir|ex|nix|conf)$/;
  const DASHES = /^(sql|lua|haskell|hs|ada|elm)$/;
  const PLAIN = /^(text|txt|plain|output|log|md|markdown|csv)$/;
  /** Colours words, strings, numbers and comments: enough to read by, whatever the language. */
  function highlight(code) {
    const language = /language-(\S+)/.exec(code.className)?.[1];
    if (!language || PLAIN.test(language) || code.textContent.length > 20000) return;
    const comment = HASHES.test(language) ? "#.*" : DASHES.test(language) ? "--.*" : "//.*|/\\*[\\s\\S]*?(?:\\*/|$)|<!--[\\s\\S]*?(?:-->|$)";
    const pattern = new RegExp(`(${comment})|("(?:\\\\.|[^"\\\\\\n])*"?|'(?:\\\\.|[^'\\\\\\n])*'|\`(?:\\\\.|[^\`\\\\])*\`)|\\b(\\d[\\w.]*)|([A-Za-z_]\\w*)`, "g");
    const out = document.createDocumentFragment(), text = code.textContent;
    let at = 0;
    for (const found of text.matchAll(pattern)) {
      const kind = found[1] ? "c" : found[2] ? "s" : found[3] ? "n" : WORDS.has(language === "sql" ? found[4].toLowerCase() : found[4]) ? "k" : "";
      if (!kind) continue;
      out.append(text.slice(at, found.index), make("span", "hl-" + kind, found[0]));
      at = found.index + found[0].length;
    }
    out.append(text.slice(at));
    code.replaceChildren(out);
  }

  async function copyText(words, button) {
    try { await navigator.clipboard.writeText(words); } catch {
      // Without https a browser has no clipboard but this.
      const area = make("textarea", "unseen", words);
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    const before = button.textContent;
    button.textContent = say("Copied");
    announce(say("Copied"));
    setTimeout(() => { button.textContent = before; }, 1500);
  }

  // ---- What can be done with a message: buttons that only a script can answer.

  function act(name, label, run) {
    const button = make("button", "act", name);
    button.type = "button";
    button.setAttribute("aria-label", label);
    button.onclick = () => run(button);
    return button;
  }
  const wordsOf = (entry) => find(".text", entry)?.textContent ?? "";
  const filesOf = (entry) => { try { return JSON.parse(entry.dataset.files ?? "[]"); } catch { return []; } };
  function write(words) {
    if (!text) return;
    text.value = words;
    grow();
    text.focus();
    text.setSelectionRange(words.length, words.length);
  }
  async function askAgain(entry) {
    const turn = entry.dataset.answer, here = byData("turn", turn);
    // It may be further up than the page goes.
    const answer = here ? null : await fetch(`/chats/${chat}/message/${turn}`).catch(() => null);
    const question = here ?? (answer?.ok ? find("article", fromHtml(await answer.text())) : null);
    if (question) post(wordsOf(question), filesOf(question), turn);
    else problem(say("The message that this answers could not be found. Write it again."));
  }
  // What was being written while an older message is edited: it comes back when that is sent, or left as it was.
  let draft = "", edited = null;
  const editing = make("p", "hint editing");
  editing.append(say("Your message is edited: what you send takes its place."), " ", act(say("Leave it as it was"), say("Leave your message as it was"), leaveIt));
  function edit(entry) {
    const words = wordsOf(entry);
    if (!edited && text.value.trim() && text.value.trim() !== words.trim()) draft = text.value;
    edited = entry.dataset.turn;
    find(".row", form).before(editing);
    for (const again of [...uploads].filter((one) => one.again)) again.off();
    write(words);
    filesOf(entry).forEach(attachAgain);
  }
  function leaveIt() {
    edited = null;
    editing.remove();
    for (const again of [...uploads].filter((one) => one.again)) again.off();
    write(draft);
    draft = "";
  }
  async function copyAnswer(entry, button) {
    const source = await fetch(`/chats/${chat}/answer/${entry.dataset.answer}`).catch(() => null);
    copyText(source?.ok ? await source.text() : find(".text", entry).innerText, button);
  }
  function quote(entry) {
    const marked = getSelection();
    const inside = !marked.isCollapsed && entry.contains(marked.anchorNode) ? marked.toString() : find(".text", entry).innerText;
    const quoted = inside.trim().split("\n").map((line) => "> " + line).join("\n");
    write((text.value ? text.value.trimEnd() + "\n\n" : "") + quoted + "\n\n");
  }

  /** A chat of its own that begins with this one up to an answer: the server makes it, and leads there. */
  const BEGUN = /^t-m\d+$/, canWrite = !("readonly" in app.dataset);
  function branch(turn) {
    const form = make("form");
    form.method = "post";
    form.action = `/chats/${chat}/branch`;
    form.hidden = true;
    for (const [name, value] of [["turn", turn], ["id", newId()]]) {
      const field = make("input");
      field.type = "hidden";
      field.name = name;
      field.value = value;
      form.append(field);
    }
    document.body.append(form);
    form.submit();
  }

  /** Gives what is new on the page its buttons and colours. */
  function dress(root) {
    for (const pre of all(".entry .rich pre", root)) {
      if (pre.parentElement.matches(".code")) continue;
      const box = make("div", "code"), code = find("code", pre) ?? pre;
      pre.replaceWith(box);
      box.append(pre, act(say("Copy"), say("Copy this code"), (button) => copyText(code.textContent, button)));
      pre.tabIndex = 0;
      if (code !== pre) highlight(code);
    }
    for (const entry of all(".person[data-turn], .agent[data-answer]:not(.working)", root)) {
      if (find(":scope > .acts", entry)) continue;
      const acts = make("div", "acts");
      if (entry.matches(".person")) {
        acts.append(act(say("Copy"), say("Copy your message"), (button) => copyText(wordsOf(entry), button)));
        if (text) acts.append(act(say("Edit"), say("Edit your message and send it again"), () => edit(entry)));
        if (canWrite) acts.append(act(say("Branch"), say("Branch from your message"), () => branch(entry.dataset.turn)));
      } else {
        const failed = entry.matches(".failed");
        acts.append(act(say("Copy"), say("Copy this answer"), (button) => copyAnswer(entry, button)));
        if (text) acts.append(act(say("Quote"), say("Quote this answer"), () => quote(entry)));
        if (BEGUN.test(entry.dataset.answer) && canWrite) acts.append(act(say("Branch"), say("Branch from this answer"), () => branch(entry.dataset.answer)));
        if (text && BEGUN.test(entry.dataset.answer) && !("unasked" in entry.dataset)) acts.append(act(failed ? say("Try again") : say("Regenerate"), failed ? say("Try again") : say("Regenerate this answer"), () => askAgain(entry)));
      }
      entry.append(acts);
    }
  }

  // ---- What the agent says

  function hear(frame) {
    if (frame.row && frame.row <= after && !(frame.turn && byData("answer", frame.turn))) return;
    const handle = HANDLERS[frame.type];
    if (handle) handle(frame);
    if (frame.row > after && frame.type !== "text_chunk" && frame.kind !== "restart") after = frame.row;
  }

  /** What the agent does, as people say it. */
  const DOING = {
    look_back: say("Looking back in this chat…"), look_at: say("Looking at a picture…"), delegate: say("Handing over a task…"), list_tasks: say("Looking at its tasks…"),
    show_task: say("Looking at a task…"), cancel_tasks: say("Cancelling tasks…"), remember: say("Remembering it…"), propose_change: say("Proposing a change…"),
    propose_plan: say("Making a plan…"), read_file: say("Reading a file…"), ls: say("Looking at files…"), glob: say("Looking for files…"),
    grep: say("Searching in files…"), send_file: say("Sending a file…"), fetch_url: say("Reading a page…"), web_search: say("Searching the web…"),
  };

  const HANDLERS = {
    accepted(frame) {
      taken(frame.id, frame.turn);
      answerOf(frame.turn);
    },
    text_chunk(frame) {
      const entry = answerOf(frame.turn);
      if (!entry.classList.contains("working")) return;
      // A new connection brings an answer again from its beginning; one with a gap comes whole with its end.
      if (frame.seq === 0) halves.delete(frame.turn);
      else if (frame.seq !== Number(entry.dataset.next)) return;
      entry.dataset.next = frame.seq + 1;
      halves.set(frame.turn, (halves.get(frame.turn) ?? "") + frame.text);
      working(entry, say("Writing…"));
      sketchSoon(frame.turn);
    },
    tool_call(frame) {
      if (frame.task) stepBegun(frame);
      else if (frame.turn) working(answerOf(frame.turn), DOING[frame.name] ?? say("Working on it…"));
    },
    tool_result(frame) { if (frame.task) stepDone(frame); },
    update(frame) { UPDATES[frame.kind]?.(frame); },
    ask(frame) {
      if (byData("approval", frame.approval)) return;
      addEntry(fromHtml(frame.html));
      if (find("form", byData("approval", frame.approval))) setWaiting(waitingCount + 1);
      announce(say("Question: {title}", { title: frame.title }));
      notify(say("A question waits for your answer."));
    },
    send_file(frame) {
      addEntry(fromHtml(frame.html));
      announce(say("File: {name}", { name: frame.name }));
    },
    end(frame) {
      const entry = answerOf(frame.turn);
      halves.delete(frame.turn);
      // The next message is answered for both.
      if (!frame.html) return keepingEnd(() => { entry.remove(); showStop(); });
      const answer = fromHtml(frame.html);
      const words = find(".text", answer).textContent;
      const thoughts = find(".thoughts", entry);
      if (thoughts) find(".text", answer).before(thoughts);
      if (floats(entry)) {
        // Told now, it stands here.
        entry.remove();
        addEntry(answer);
        tasksOf(frame.turn).reverse().forEach((task) => byData("answer", frame.turn).after(task));
      } else keepingEnd(() => { entry.replaceWith(answer); dress(log); });
      showStop();
      // Nobody waits for an answer whose place is taken.
      if (byData("answer", frame.turn)?.closest(".earlier")) return;
      announce(say("Agent: {words}", { words: words.trim().slice(0, 400) }));
      notify(say("There is an answer."));
    },
    error: refused,
  };

  const UPDATES = {
    restart(frame) {
      halves.delete(frame.turn);
      find(".text", answerOf(frame.turn)).replaceChildren();
      find(".thoughts", answerOf(frame.turn))?.remove();
    },
    model(frame) {
      const entry = answerOf(frame.turn);
      if (!entry.classList.contains("working")) return;
      working(entry, modelDoes(frame));
      if (frame.thought) think(entry, frame.thought);
    },
    task: showTask,
    progress(frame) {
      if (frame.task) return taskNote(frame.task, frame.doing ? modelDoes(frame) : frame.text);
      const last = all(".working", log).pop();
      if (last) working(last, frame.text);
    },
    notice(frame) {
      tell(frame, frame.text);
      for (const entry of all(".working", log)) askWhatItWaitsFor(entry);
    },
    answered: showAnswer,
    question(frame) {
      const old = byData("approval", frame.approval);
      if (old && find("form", old)) keepingEnd(() => old.replaceWith(fromHtml(frame.html)));
    },
    // What a running command has printed last. Who opened its steps is shown that of the step that prints.
    output(frame) {
      const step = stepOf(frame.task, frame.call);
      if (!step || !frame.html || step.dataset.status !== "running") return;
      if (!step.dataset.live) find("details", step).open = true;
      step.dataset.live = "";
      keepingEnd(() => {
        find(".output", step).replaceWith(fromHtml(frame.html));
        const shown = find(".output", step);
        shown.scrollTop = shown.scrollHeight;
      });
    },
    // In whichever chat they are asked.
    waiting(frame) { setWaiting(frame.count); },
    blocked(frame) { tell(frame, say("{host} was not reached: {reason}", { host: frame.host, reason: frame.reason })); },
    todos(frame) {
      const list = find(".todos", card(frame.task) ?? make("i"));
      if (!list) return;
      list.replaceChildren(...frame.todos.map((todo) => {
        const item = make("li", todo.state, todo.text);
        item.translate = false;
        if (todo.state !== "open") item.append(make("span", "unseen", ` (${todo.state === "done" ? say("done") : say("being done")})`));
        return item;
      }));
    },
  };

  /** What the model is at before there are words of its answer. */
  const MODEL_DOES = { reads: say("The model reads…"), thinks: say("The model thinks…"), writes: say("The model writes down what is to be done…") };
  function modelDoes(frame) {
    const again = frame.attempt > 1 ? " " + say("Attempt {n}.", { n: frame.attempt }) : "";
    return MODEL_DOES[frame.doing] + again;
  }
  /** What it thinks: folded, as text and nothing else. */
  function think(entry, more) {
    let thoughts = find(".thoughts", entry);
    if (!thoughts) {
      thoughts = make("details", "thoughts");
      thoughts.append(make("summary", "", say("Thoughts")), make("div"));
      find(".text", entry).before(thoughts);
    }
    keepingEnd(() => find("div", thoughts).append(legible(more)));
  }

  /** Everything may have been stopped: the server knows what an answer waits for. */
  async function askWhatItWaitsFor(entry) {
    const response = await fetch(`/chats/${chat}/message/${entry.dataset.answer}`).catch(() => null);
    const hint = response?.ok && find(".working .hint", fromHtml(await response.text()));
    if (hint && !find(".text", entry).textContent) working(entry, hint.textContent);
  }

  function working(entry, words) {
    const hint = find(".hint", entry);
    if (hint) hint.textContent = legible(words);
  }
  function tell(frame, words) {
    addEntry(frame.html ? fromHtml(frame.html) : make("p", "entry notice", words));
    announce(words);
  }

  // ---- Tasks

  const FINAL = ["done", "failed", "cancelled"];
  const card = (id) => find(`.task[data-task="${CSS.escape(id)}"]`, log);
  function taskNote(id, words) {
    const note = find(":scope > .note", card(id) ?? make("i"));
    if (note) note.textContent = legible(words);
  }

  function addTask(fresh) {
    const turn = fresh.dataset.began, above = tasksOf(turn).pop() ?? byData("answer", turn) ?? byData("turn", turn);
    if (above) addBelow(above, fresh);
    else addEntry(fresh);
  }

  /** The state of a task: its card is made, or brought up to date with its steps left as they are. */
  function showTask(frame) {
    if (!frame.html) return;
    const fresh = find(".task", fromHtml(frame.html)), old = card(frame.task);
    const final = FINAL.includes(fresh.dataset.state);
    if (!old) addTask(fresh);
    else keepingEnd(() => {
      old.dataset.state = fresh.dataset.state;
      find(".head", old).replaceWith(find(".head", fresh));
      const note = find(":scope > .note", fresh);
      if (final || note.textContent) find(":scope > .note", old).replaceWith(note);
      const result = find(".result", fresh);
      if (frame.whole || final) {
        // What it did while nobody here was told is in the new card; which files it wrote is known at its end.
        const steps = find(".steps", fresh), was = find(".steps", old);
        steps.open = was.open;
        was.replaceWith(steps);
        if (!final) find(".todos", old).replaceWith(find(".todos", fresh));
      }
      const changes = find(".changes", fresh), before = find(".changes", old);
      if (frame.whole || final || !before) {
        if (changes && before) changes.open = before.open;
        before?.remove();
        if (changes) find(".steps", old).after(changes);
      }
      if (result && !find(".result", old)) old.append(result);
    });
    showAtWork(frame.task, fresh.dataset.state, frame.title);
    if (!final) return;
    for (const question of all(`.ask[data-task="${CSS.escape(frame.task)}"]`, log)) {
      if (find("form", question)) closeQuestion(question, say("The task has ended."));
    }
    for (const notice of all(`.blocked.allowed[data-blocked="${CSS.escape(frame.task)}"]`, log)) offerToGoOn(notice);
  }

  /** The strip above the place to write: what is at work, and a way to each. */
  function showAtWork(id, state, title) {
    const list = find("ul", strip);
    let item = byData("at-work", id, strip);
    if (FINAL.includes(state)) item?.remove();
    else if (!item) {
      item = make("li");
      item.dataset.atWork = id;
      const anchor = make("a", "", title);
      anchor.href = "#task-" + id;
      anchor.translate = false;
      item.append(anchor);
      list.append(item);
    }
    strip.hidden = !find("li", strip);
  }

  function stepBegun(frame) {
    const list = find(".steps .list", card(frame.task) ?? make("i"));
    if (!frame.html) return;
    const step = find(".step", fromHtml(frame.html));
    taskNote(frame.task, find("code", step).textContent);
    if (!list || byData("call", frame.id, list)) return;
    keepingEnd(() => list.append(step));
  }
  const stepOf = (task, call) => byData("call", call, find(".steps .list", card(task) ?? make("i")) ?? make("i"));
  function stepDone(frame) {
    const step = stepOf(frame.task, frame.id);
    if (!step) return;
    step.dataset.status = frame.ok ? "ok" : "failed";
    keepingEnd(() => find(".output", step).replaceWith(fromHtml(frame.html)));
  }

  // What a task did comes when somebody wants to know.
  document.addEventListener("toggle", async (event) => {
    const anchor = event.target.matches?.(".steps, .changes") && event.target.open && find("a[data-steps]", event.target);
    if (!anchor) return;
    const response = await fetch(anchor.href, { headers: { accept: "text/plain" } }).catch(() => null);
    if (response?.ok) anchor.parentElement.replaceWith(fromHtml(await response.text()));
  }, true);

  /** Takes back, brings back or keeps what a task did. The card is told of it like any other that shows it. */
  async function changeBack(button) {
    button.disabled = true;
    const changed = button.closest("[data-task]").dataset.task;
    const response = await fetch(button.form.action, { method: "POST", headers: { accept: "text/plain" } }).catch(() => null);
    button.disabled = false;
    if (!response?.ok) return problem(say("That could not be done. Try again in a moment."));
    const fold = find(".changes", card(changed) ?? make("i"));
    if (fold) fold.open = true;
  }

  /** A host is allowed by now: the task that wanted to go there can go on, once it has ended. */
  function offerToGoOn(notice) {
    const id = notice.dataset.blocked, task = id && card(id);
    const state = task?.dataset.state;
    if (!task || !FINAL.includes(state) || find("button", notice)) return;
    const again = find("[data-say]", task)?.dataset.say;
    const title = find(".title", task).textContent;
    const button = make("button", "", say("Go on with the task"));
    button.type = "button";
    button.dataset.say = again ?? say("{host} is allowed now. Go on with {id} ({title}).", { host: notice.dataset.host, id, title });
    keepingEnd(() => notice.append(button));
  }

  function allowHost(button) {
    const notice = button.closest(".blocked");
    post(button.dataset.allow);
    notice.classList.add("allowed");
    button.remove();
    offerToGoOn(notice);
  }

  // ---- Questions

  const DEEDS = {
    allow: say("{who} allowed it once."), allow_for_task: say("{who} allowed it for this task."), allow_always: say("{who} allowed it always in this chat."),
    deny: say("{who} denied it."), deny_and_stop: say("{who} denied it and stopped the task."),
  };

  // How many questions wait: beside the name of their page, and in the title of this one.
  const badge = find("#waiting");
  let waitingCount = badge && !badge.hidden ? Number(find(".count", badge).textContent) : 0;
  function setWaiting(count) {
    waitingCount = Math.max(0, count);
    const title = document.title.replace(/^\(\d+\) /, "");
    document.title = waitingCount ? `(${waitingCount}) ${title}` : title;
    if (!badge) return;
    find(".count", badge).textContent = waitingCount;
    badge.hidden = !waitingCount;
  }

  /** Somebody answered, here or anywhere else. */
  function showAnswer(frame) {
    const question = byData("approval", frame.approval);
    if (!question) return;
    const words = (DEEDS[frame.answer] ?? say("{who} answered.")).replace("{who}", () => frame.by);
    announce(words);
    if (frame.left === 0) return closeQuestion(question, words);
    const left = frame.left === 1 ? say("One more person must answer.") : say("More people must answer: {n}.", { n: frame.left });
    find(".answers", question).replaceChildren(make("p", "hint", words), make("p", "hint", left));
    for (const button of all("button", question)) button.disabled = false;
  }

  function closeQuestion(question, words) {
    const form = find("form", question), what = find(".what", question);
    find(".answers", question)?.append(make("p", "hint", words));
    if (!form) return;
    form.remove();
    question.classList.add("settled");
    // All that is left is a line; the rest is folded.
    if (what) {
      find("summary", what).after(...all(":scope > :is(.why, .sources)", question));
      what.open = false;
    }
    setWaiting(waitingCount - 1);
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

  // ---- Notifications: only who asked for them gets any, and whoever looks over their shoulder reads nothing in them.

  const notifyButton = find("#notify"), notifyKey = "cloister-notify";
  const canNotify = "Notification" in window && isSecureContext;
  function wantsNotes(set) {
    try {
      if (set !== undefined) localStorage.setItem(notifyKey, set ? "yes" : "no");
      return canNotify && Notification.permission === "granted" && localStorage.getItem(notifyKey) === "yes";
    } catch { return false; }
  }
  function showNotifyButton() {
    if (!notifyButton) return;
    notifyButton.hidden = !canNotify;
    notifyButton.setAttribute("aria-pressed", String(wantsNotes()));
    notifyButton.textContent = wantsNotes() ? say("Stop notifying me in this browser") : say("Notify me in this browser");
  }
  async function toggleNotes() {
    const on = !wantsNotes();
    if (on && await Notification.requestPermission() !== "granted") {
      problem(say("This browser lets this page show no notifications. Its settings for this site change that."));
    } else wantsNotes(on);
    if (wantsNotes()) worker()?.catch(() => {});
    showNotifyButton();
  }
  function notify(words) {
    if (!document.hidden || !wantsNotes()) return;
    const shown = { body: words, tag: `cloister-${workspace}-${chat}`, icon: find("link[rel=apple-touch-icon]").href, data: { page: location.pathname } };
    try {
      const note = new Notification("Cloister", shown);
      note.onclick = () => { window.focus(); note.close(); };
    } catch {
      // Phones show them for a worker alone.
      worker()?.then((ready) => ready.showNotification("Cloister", shown)).catch(() => {});
    }
  }
  /** The worker that shows notifications, in this browser's keeping from the first consent on. */
  const worker = () => navigator.serviceWorker?.register("/worker.js").then(() => navigator.serviceWorker.ready);
  if (wantsNotes()) worker()?.catch(() => {});
  showNotifyButton();

  // ---- Buttons

  document.addEventListener("click", (event) => {
    const target = event.target.closest("button, a, .pop, summary");
    for (const more of all(".more[open]")) if (!more.contains(event.target)) more.open = false;
    if (document.body.classList.contains("drawer") && !find("#sidebar").contains(event.target) && target?.id !== "menu") drawer(false);
    if (!target) return;
    const { cancel, say: words, allow, older, way } = target.dataset;
    // What is a form or a link without this script is none with it.
    if (cancel || allow || words || way || older !== undefined || ["cancel-all", "menu"].includes(target.id)) event.preventDefault();
    if (cancel) { if (sendNow({ type: "cancel", task: cancel })) target.disabled = true; }
    else if (way) changeBack(target);
    else if (allow) allowHost(target);
    else if (words) {
      target.disabled = true;
      // Once is enough: a task that was gone on with is another.
      const blocked = target.closest(".blocked");
      if (blocked) { blocked.classList.remove("allowed"); target.remove(); }
      post(words);
    }
    else if (older !== undefined) showOlder(target);
    else if (target.id === "cancel-all") sendNow({ type: "cancel" });
    else if (target.id === "menu") drawer(!document.body.classList.contains("drawer"));
    else if (target.id === "stop") stopTurns();
    else if (target.id === "attach") find("#files").click();
    else if (target.id === "voice") record(target);
    else if (target.id === "notify") toggleNotes();
  });

  function stopTurns() {
    for (const entry of all(".working", log)) {
      if (!sendNow({ type: "cancel", turn: entry.dataset.answer })) return;
      working(entry, say("Stopping…"));
    }
  }

  async function showOlder(anchor) {
    const response = await fetch(anchor.href).catch(() => null);
    if (!response?.ok) return problem(say("Older messages could not be loaded. Try again in a moment."));
    const fragment = fromHtml(await response.text());
    const height = main.scrollHeight - main.scrollTop;
    // A task at work that began up there has its card already.
    for (const task of all(".task", fragment)) card(task.dataset.task)?.remove();
    anchor.closest(".older").replaceWith(fragment);
    dress(log);
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
    else if (edited) leaveIt();
    for (const more of all(".more[open]")) { more.open = false; find("summary", more).focus(); }
    problem("");
  });

  // What is typed narrows the list; Enter looks through everything that was said.
  find("#find")?.addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    for (const item of all(".chats li")) item.hidden = !item.textContent.toLowerCase().includes(wanted);
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
    return (unit && bytes < 10 ? (Math.floor(bytes * 10) / 10).toFixed(1) : Math.floor(bytes)) + " " + units[unit];
  }
  function grow() {
    text.style.height = "auto";
    text.style.height = text.scrollHeight + "px";
  }

  const uploads = new Set();
  function thumbnail(address, name) {
    const image = make("img");
    image.src = address;
    image.alt = name;
    return image;
  }
  function player(address, name) {
    const audio = make("audio");
    audio.controls = true;
    audio.preload = "metadata";
    audio.src = address;
    audio.setAttribute("aria-label", name);
    return audio;
  }
  let sendWhenUp = false;

  function addFiles(files) {
    problem("");
    for (const file of files) {
      if (uploads.size >= number("maxFiles")) { problem(say("At most {n} files can come with one message.", { n: number("maxFiles") })); break; }
      if (file.size > number("maxUpload")) { problem(say("{name} is too large ({size}): up to {most} each are taken.", { name: file.name, size: size(file.size), most: size(number("maxUpload")) })); continue; }
      upload(file);
    }
    text.focus();
  }

  /** A line of the list of files to send, with a button that takes it off again. */
  function uploadLine(file, off) {
    const item = make("li"), stop = make("button", "small", "✕");
    stop.type = "button";
    stop.setAttribute("aria-label", say("Take off {name}", { name: file.name }));
    stop.onclick = () => { off(); text.focus(); };
    item.append(make("span", "name", file.name), make("small", "", size(file.size)), stop);
    find("#uploads").append(item);
    return item;
  }
  /** A file that is here already, sent with another message. */
  function attachAgain(attachment) {
    if (uploads.size >= number("maxFiles") || [...uploads].some((entry) => entry.attachment?.path === attachment.path)) return;
    const entry = { attachment, again: true, off() { uploads.delete(entry); entry.item.remove(); } };
    entry.item = uploadLine(attachment, entry.off);
    if (pictures.has(attachment.path)) entry.item.prepend(thumbnail(pictures.get(attachment.path), ""));
    uploads.add(entry);
  }

  function upload(file) {
    const bar = make("progress");
    bar.max = 100;
    bar.value = 0;
    bar.setAttribute("aria-label", say("Sending {name}", { name: file.name }));
    const item = uploadLine(file, () => drop());
    find("button", item).before(bar);
    const picture = /^image\/(png|jpeg|gif|webp)$/.test(file.type) ? URL.createObjectURL(file) : null;
    if (picture) item.prepend(thumbnail(picture, ""));
    // A voice note is heard before it is sent.
    if (/^audio\//.test(file.type)) {
      find(".name", item).after(player(URL.createObjectURL(file), file.name));
    }
    const request = new XMLHttpRequest();
    const entry = { item, request, attachment: null };
    uploads.add(entry);
    const drop = () => { uploads.delete(entry); item.remove(); request.abort(); sendIfUp(); };
    request.upload.onprogress = (event) => { if (event.lengthComputable) bar.value = 100 * event.loaded / event.total; };
    request.onload = () => {
      let answer = null;
      try { answer = JSON.parse(request.responseText); } catch { /* said below */ }
      if (request.status !== 200 || !answer?.path) {
        drop();
        return problem(say("{name} was not taken: {why}", { name: file.name, why: answer?.error?.message ?? request.status }));
      }
      entry.attachment = answer;
      if (picture) pictures.set(answer.path, picture);
      bar.replaceWith(make("span", "ok", "✓"));
      announce(say("{name} is ready to be sent", { name: file.name }));
      sendIfUp();
    };
    request.onerror = () => { drop(); problem(say("{name} could not be sent. Check the connection and attach it again.", { name: file.name })); };
    request.open("POST", `${base}/chats/${chat}/files?name=${encodeURIComponent(file.name)}`);
    request.send(file);
  }

  /** A voice note is a file like any other: recorded until the button is pressed again, then attached. */
  let recorder = null;
  async function record(button) {
    if (recorder) return recorder.state === "recording" && recorder.stop();
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true }).catch(() => null);
    if (!stream) return problem(say("The microphone can't be used: the browser refused it, or there is none."));
    const pieces = [];
    recorder = new MediaRecorder(stream);
    const show = (on) => {
      button.setAttribute("aria-pressed", String(on));
      button.setAttribute("aria-label", on ? say("Stop recording and attach it") : say("Record a voice note"));
      announce(on ? say("Recording") : say("Recorded"));
    };
    recorder.ondataavailable = (event) => pieces.push(event.data);
    recorder.onstop = () => {
      for (const track of stream.getTracks()) track.stop();
      const type = recorder.mimeType.split(";")[0] || "audio/webm";
      const ending = { "audio/mp4": "m4a", "audio/ogg": "ogg" }[type] ?? "weba";
      recorder = null;
      show(false);
      const at = new Date().toISOString().slice(0, 19).replace("T", "-").replaceAll(":", "");
      addFiles([new File(pieces, `voice-${at}.${ending}`, { type })]);
    };
    recorder.start();
    show(true);
  }

  // ---- Commands, as they are typed

  const commands = find("#commands");
  const choices = commands ? all("[role=option]", commands) : [];
  const offered = () => choices.filter((choice) => !choice.hidden);
  const chosen = () => choices.find((choice) => choice.getAttribute("aria-selected") === "true");
  const typedCommand = () => /^\/([a-z_-]*)$/i.exec(text.value)?.[1].toLowerCase().replaceAll("-", "_");
  function choose(choice) {
    for (const one of choices) one.setAttribute("aria-selected", String(one === choice));
    if (choice) text.setAttribute("aria-activedescendant", choice.id);
    else text.removeAttribute("aria-activedescendant");
    choice?.scrollIntoView({ block: "nearest" });
  }
  function offerCommands() {
    const typed = typedCommand(), before = commands.hidden;
    for (const choice of choices) choice.hidden = typed === undefined || !choice.dataset.name.startsWith(typed);
    const left = offered();
    commands.hidden = !left.length;
    choose(left[0]);
    if (before && left.length) announce(left.length === 1 ? say("One command") : say("Commands: {n}. Arrow keys choose, Tab takes one.", { n: left.length }));
  }
  function closeCommands() { commands.hidden = true; choose(undefined); }
  function takeCommand(choice) {
    write("/" + choice.dataset.name + (/ /.test(find("code", choice).textContent) ? " " : ""));
    closeCommands();
  }
  /** Whether a key was for the list of commands. */
  function commandKey(event) {
    const left = offered(), at = left.indexOf(chosen());
    if (commands.hidden || event.isComposing || !left.length) return false;
    if (event.key === "ArrowDown") choose(left[(at + 1) % left.length]);
    else if (event.key === "ArrowUp") choose(left[(at + left.length - 1) % left.length]);
    else if (event.key === "Escape") closeCommands();
    // What is typed in full is said.
    else if (event.key === "Enter" && (event.shiftKey || left[at]?.dataset.name === typedCommand())) { closeCommands(); return false; }
    else if (event.key === "Enter" || event.key === "Tab" && !event.shiftKey) takeCommand(left[Math.max(at, 0)]);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  const uploading = () => [...uploads].some((entry) => !entry.attachment);
  function sendIfUp() {
    if (sendWhenUp && !uploading()) submit();
  }

  function submit() {
    sendWhenUp = false;
    const words = text.value.trim();
    if (!words && !uploads.size) return;
    if (new TextEncoder().encode(words).length > number("maxText")) return problem(say("The message is too long. Send it as a file."));
    if (uploading()) {
      sendWhenUp = true;
      return problem(say("The message is sent as soon as its files are."));
    }
    problem("");
    const attachments = [...uploads].map((entry) => entry.attachment);
    for (const entry of uploads) entry.item.remove();
    uploads.clear();
    const turn = edited;
    edited = null;
    editing.remove();
    text.value = draft;
    draft = "";
    grow();
    post(words, attachments, turn);
  }

  if (form) {
    // A touch keyboard has no Shift+Enter: there, Enter is a new line.
    const touch = matchMedia("(pointer: coarse)").matches;
    if (touch) text.enterKeyHint = "enter";
    find("#attach").hidden = false;
    form.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
    text.addEventListener("input", () => { grow(); offerCommands(); });
    text.addEventListener("blur", closeCommands);
    // The place to write keeps the focus.
    commands.addEventListener("mousedown", (event) => event.preventDefault());
    commands.addEventListener("click", (event) => {
      const choice = event.target.closest("[role=option]");
      if (choice) takeCommand(choice);
    });
    find("#voice").hidden = !(navigator.mediaDevices?.getUserMedia && window.MediaRecorder);
    text.addEventListener("keydown", (event) => {
      if (commandKey(event)) return;
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
  dress(log);
  // Who comes for one entry is shown that one.
  const looked = location.hash.length > 1 && location.hash !== "#end" && document.getElementById(location.hash.slice(1));
  if (looked) { looked.closest(".earlier")?.setAttribute("open", ""); looked.scrollIntoView({ block: "center" }); atEnd = nearEnd(); }
  else toEnd();
  showStop();
  connect();
})();
