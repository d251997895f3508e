// Puts the replay of a game into its page, and keeps it up to date while the game is played.
"use strict";

const SHORTEST_MS = 500; // between two looks at a game that is played fast
const main = document.getElementById("main");
const address = `/games/${main.dataset.game}`;

async function load() {
  const answer = await fetch(`${address}/data.json`, { cache: "no-store" });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return answer.json();
}

function follow(viewer) {
  const source = new EventSource(`${address}/events`);
  let isLoading = false;
  let isBehind = false;

  async function update() {
    if (isLoading) {
      isBehind = true;
      return;
    }
    isLoading = true;
    isBehind = false;
    try {
      const { replay } = await load();
      viewer.update(replay);
      if (!replay.live) source.close();
    } catch (error) {
      console.warn("the game cannot be loaded; the next move tries again", error);
    }
    setTimeout(() => {
      isLoading = false;
      if (isBehind) update();
    }, SHORTEST_MS);
  }

  source.onmessage = update;
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(() => follow(viewer), 5000);
  };
}

async function start() {
  const data = await load();
  const viewer = ArenaReplay.mount(main, data);
  if (data.replay.live) follow(viewer);
}

start().catch((error) => {
  const problem = document.createElement("p");
  problem.setAttribute("role", "alert");
  problem.textContent = `The replay cannot be shown: ${error.message}. The game as text follows.`;
  main.prepend(problem);
});
