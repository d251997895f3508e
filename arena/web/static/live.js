// The boards of a run as they stand: the server sends what changed, and this puts it in place.
"use strict";

const ANNOUNCE_EVERY_MS = 4000; // a screen reader reads to the end before the next
const list = document.getElementById("boards");
const news = document.getElementById("news");
let announced = 0;

function element(name, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function emptyBoard(id) {
  const item = element("li", "board");
  item.dataset.game = id;
  const link = document.createElement("a");
  link.href = `/games/${id}`;
  const image = document.createElement("img");
  image.width = image.height = 320;
  const caption = element("span", "caption");
  caption.append(document.createElement("b"), " ", document.createElement("span"));
  link.append(element("span", "seat second"), image, element("span", "seat first"), caption);
  item.append(link);
  return item;
}

function shortened(name) {
  return name.length > 80 ? `${name.slice(0, 80)}…` : name;
}

function seat(place, name, clock) {
  place.replaceChildren(element("span", "", shortened(name)));
  if (clock) place.append(" ", element("time", "", clock));
}

function fill(item, board) {
  item.classList.toggle("over", !board.playing);
  item.classList.toggle("janggi", board.game !== "chess");
  seat(item.querySelector(".seat.first"), board.first, board.clocks[0]);
  seat(item.querySelector(".seat.second"), board.second, board.clocks[1]);
  item.querySelector(".caption b").textContent = board.last;
  item.querySelector(".caption span").textContent = board.ending;
  const image = item.querySelector("img");
  image.alt = board.words;
  const picture = board.picture || "/static/empty.svg";
  if (image.getAttribute("src") !== picture) image.src = picture;
}

// Ends of games always; moves only where one game is all there is, and not faster than can be listened to.
function announce(boards, playing) {
  const ends = boards.filter((board) => board.ending).map((board) => `Game ${board.id}: ${board.ending}.`);
  const moves = playing === 1 ? boards.filter((board) => board.playing).map((board) => `${board.words}.`) : [];
  const now = Date.now();
  if (ends.length || (moves.length && now - announced > ANNOUNCE_EVERY_MS)) {
    news.textContent = [...ends, ...moves].join(" ").slice(0, 400);
    announced = now;
  }
}

function show(state, isFirst) {
  const items = new Map([...list.children].map((item) => [Number(item.dataset.game), item]));
  for (const board of state.boards) {
    if (!items.has(board.id)) items.set(board.id, emptyBoard(board.id));
    fill(items.get(board.id), board);
  }
  const wanted = state.order.map((id) => items.get(id));
  const isInPlace = wanted.length === list.children.length && wanted.every((item, at) => item === list.children[at]);
  if (!isInPlace) {
    const focused = document.activeElement;
    list.replaceChildren(...wanted);
    if (list.contains(focused)) focused.focus({ preventScroll: true });
  }
  document.getElementById("nothing").hidden = wanted.length > 0;
  document.getElementById("progress").textContent = `${state.run.finished} of ${state.run.games} games finished`;
  const status = document.getElementById("run-status");
  status.textContent = state.run.status;
  status.className = `state ${state.run.status}`;
  if (!isFirst) announce(state.boards, wanted.filter((item) => !item.classList.contains("over")).length);
}

function follow() {
  const source = new EventSource(list.dataset.events);
  const connection = document.getElementById("connection");
  let isFirst = true;
  source.onmessage = (message) => {
    connection.textContent = "";
    show(JSON.parse(message.data), isFirst);
    isFirst = false;
  };
  source.onerror = () => {
    connection.textContent = "connection lost, trying again";
    isFirst = true; // what comes next is the whole state, not news
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 5000);
  };
}

follow();
