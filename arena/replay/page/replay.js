"use strict";
/* The replay of one game.

   const viewer = ArenaReplay.mount(element, {replay, art, files, links});
   viewer.update(replay);   // more has been played: a viewer that is at the end follows

   `replay` is what arena.replay.viewmodel.replay_json gives, `art` a games.pictures.BoardArt, `files` maps names of
   files to offer to their text, `links` may have `index`, `previous`, `next`. What agents wrote becomes text nodes and
   never markup; markup comes from `art` only. */

const ArenaReplay = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16];
  const SHORTEST_MS = 40;
  const PARTS = ["queue", "prefill", "decode", "other"];
  const KEYS = [
    ["← →", "one ply back, one on"], ["Home End", "the start, the last ply"], ["Space", "play, pause"],
    ["+ −", "faster, slower"], ["r", "fixed speed, or as fast as it was played"], ["f", "turn the board"],
    ["t", "other pieces (janggi)"], ["n p", "next game, previous game"], ["/", "all games"], ["e", "save the game"],
    ["m", "light, dark"], ["?", "this list"],
  ];

  const ICONS = {  // in a box of 24 by 24; drawn, since fonts lack some of these signs
    start: "M5 5v14M19 5v14L8 12z", back: "M15 5l-7 7 7 7", on: "M9 5l7 7-7 7", end: "M19 5v14M5 5v14l11-7z",
    play: "M6 4v16l14-8z", pause: "M7 5v14h3V5zM14 5v14h3V5z", turn: "M8 20V5M4 9l4-5 4 5M16 4v15M12 15l4 5 4-5",
    save: "M12 3v12M7 11l5 5 5-5M4 20h16", theme: "M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z",
  };
  const OUTLINES = new Set(["back", "on", "turn", "save"]);

  function el(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value === true) node.setAttribute(name, "");
      else if (value !== false && value != null) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child != null));
    return node;
  }

  function svg(tag, attributes = {}, ...children) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  function icon(name) {
    return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: ICONS[name], fill: OUTLINES.has(name) ? "none" : "currentColor" }));
  }

  const parsed = new Map();
  function drawn(markup) {
    if (!parsed.has(markup)) {
      const group = svg("g");
      group.innerHTML = markup;
      parsed.set(markup, group);
    }
    return parsed.get(markup).cloneNode(true);
  }

  function milliseconds(value) {
    return value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(2)} s`;
  }

  function clock(ms) {
    const tenths = Math.max(0, Math.floor(ms / 100));
    const seconds = Math.floor(tenths / 10);
    const two = (number) => String(number).padStart(2, "0");
    const whole = `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
    return seconds < 20 ? `${whole}.${tenths % 10}` : whole;
  }

  function placement(fen) {
    return fen.split(" ")[0].split("/").map((rank) => [...rank].flatMap((mark) =>
      /\d/.test(mark) ? Array(Number(mark)).fill("") : [mark]));
  }

  /* The board: the same layers whatever the game. */
  function drawBoard(art, ply, faces, flip) {
    const board = svg("svg", { viewBox: `0 0 ${art.width} ${art.height}`, role: "img", "aria-label": ply.words });
    const ranks = placement(ply.fen);
    const at = (file, rank, markup) => {
      const [across, up] = flip ? [art.files - 1 - file, art.ranks - 1 - rank] : [file, rank];
      const node = drawn(markup);
      node.setAttribute("transform", `translate(${art.origin[0] + across * art.step} ${art.origin[1] - up * art.step})`);
      board.append(node);
    };
    const place = (square) => ["abcdefghi".indexOf(square[0]), Number(square.slice(1)) - 1];
    const piece = (file, rank) => ranks[art.ranks - 1 - rank][file];
    board.append(drawn(art.empty[flip ? 1 : 0]));
    if (ply.check) at(...place(ply.check), art.check);
    if (ply.squares) {
      const [left, reached] = ply.squares.map(place);
      if (ply.squares[0] !== ply.squares[1]) at(...left, art.left);
      at(...reached, art.reached[piece(...reached).toUpperCase()]);
    }
    for (let rank = art.ranks - 1; rank >= 0; rank--) {
      for (let file = 0; file < art.files; file++) {
        if (piece(file, rank)) at(file, rank, art.pieces[faces][piece(file, rank)]);
      }
    }
    return board;
  }

  function attemptBox(attempt) {
    const verdict = attempt.failure ? `${attempt.number}. ${attempt.failure}` : `${attempt.number}. played`;
    return el("div", { class: attempt.failure ? "attempt bad" : "attempt" },
      el("b", {}, verdict), attempt.detail ? ` — ${attempt.detail}` : null, el("pre", { tabindex: 0 }, attempt.text || "(nothing)"));
  }

  function facts(pairs) {
    return el("dl", {}, ...pairs.filter(Boolean).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  }

  function latencyBar(latency) {
    const total = PARTS.reduce((sum, part) => sum + latency[`${part}_ms`], 0) || 1;
    return el("div", { class: "bar", "aria-hidden": "true" }, ...PARTS.map((part) => {
      const share = el("i", { class: part });
      share.style.width = `${(100 * latency[`${part}_ms`]) / total}%`;
      return share;
    }));
  }

  /* What the answer could have begun with, at each point where there was a choice. */
  function waysOf(decisions) {
    if (!decisions.length) return [];
    const lists = decisions.map((decision) => el("ol", {}, ...decision.options.map(({ text, probability }, index) => {
      const share = el("i", { "aria-hidden": "true" });
      share.style.width = `${100 * Math.min(probability, 1)}%`;
      return el("li", { class: index === decision.taken ? "taken" : null }, el("span", {}, text.trim()),
        el("span", {}, percent(probability), index === decision.taken ? el("span", { class: "hidden-words" }, ", taken") : null), el("b", {}, share));
    })));
    return [el("h3", {}, "The likeliest ways, and the one taken"), el("div", { class: "ways" }, ...lists)];
  }

  function promptOf(parts) {
    if (!parts.length) return [];
    return [el("h3", {}, "New in the prompt"), ...parts.map(({ role, text }) =>
      el("div", { class: "prompt" }, el("b", {}, role), el("pre", { tabindex: 0 }, text)))];
  }

  function percent(share) { return share === 0 || share >= 0.0005 ? `${(100 * share).toFixed(1)}%` : "<0.1%"; }

  function moveDetail(ply) {
    const { chosen } = ply;
    const nodes = [el("h2", {}, `${ply.number} ${ply.san}`, el("span", { class: "quiet" }, `  ${ply.move_words}`))];
    const time = chosen.latency, tokens = chosen.tokens;
    if (time) nodes.push(latencyBar(time));
    nodes.push(facts([
      ["agent", `${chosen.agent}, policy ${chosen.policy}`],
      chosen.probability != null && ["probability", percent(chosen.probability)],
      time && ["time", `${milliseconds(time.total_ms)}: ` + PARTS.map((part) => `${part} ${milliseconds(time[`${part}_ms`])}`).join(", ")],
      tokens && tokens.prompt > 0 && ["first token", `after ${milliseconds(time.ttft_ms)}`],
      tokens && tokens.prompt > 0 && ["tokens", `${tokens.prompt} in the prompt, ${tokens.new} of them new; ${tokens.generated} generated; ` +
        `${tokens.forwarded} computed in ${tokens.passes} passes; batch of ${tokens.batch}`],
    ]));
    const said = chosen.attempts.length ? [el("h3", {}, "What the agent said"), ...chosen.attempts.map(attemptBox)] : [];
    return [...nodes, ...waysOf(chosen.decisions), ...said, ...promptOf(chosen.prompt)];
  }

  function mount(root, { replay, art, files = {}, links = {} }) {
    const faceNames = Object.keys(art.pieces);
    const state = { ply: replay.last, flip: false, playing: null, speed: 2, recorded: false, face: 0 };
    const parts = {
      ending: el("span", { class: "ending" }), live: el("span", { class: "live" }, "LIVE"),
      board: el("div"), detail: el("section", { class: "detail card", "aria-label": "The move" }),
      moves: el("nav", { class: "moves card", "aria-label": "Moves" }),
      chart: el("section", { class: "chart card", "aria-label": "Latency of every move" }),
      players: [0, 1].map(() => el("div", { class: "player" })),
      slider: el("input", { type: "range", min: 0, step: 1, "aria-label": "Ply", oninput: () => show(Number(parts.slider.value)) }),
      words: el("div", { class: "hidden-words", role: "status", "aria-live": "polite" }),
      speed: el("span", { class: "speed" }),
    };
    const button = (label, title, action) => el("button", { type: "button", title, "aria-label": title, onclick: action }, label);
    const buttons = {
      start: button(icon("start"), "To the start (Home)", () => show(0)), back: button(icon("back"), "One ply back (←)", () => show(state.ply - 1)),
      play: button(icon("play"), "Play, pause (space)", toggle), on: button(icon("on"), "One ply on (→)", () => show(state.ply + 1)),
      end: button(icon("end"), "To the end (End)", () => show(replay.last)),
    };
    const help = el("dialog", { "aria-label": "Keys", onclick: () => help.close() }, el("h2", {}, "Keys"),
      el("dl", {}, ...KEYS.flatMap(([keys, what]) => [el("dt", {}, ...keys.split(" ").flatMap((key) => [el("kbd", {}, key), " "])), el("dd", {}, what)])));
    const link = (name, label) => (links[name] ? el("a", { href: links[name] }, label) : null);

    root.classList.add("replay");
    root.style.setProperty("--ratio", art.width / art.height);
    root.replaceChildren(
      el("header", { class: "head" }, el("h1", { title: replay.title }, replay.title), parts.live, parts.ending,
        el("span", { class: "quiet" }, replay.facts.map(([name, value]) => `${name} ${value}`).join(" · ")),
        el("nav", { class: "links", "aria-label": "Games" }, link("previous", "‹ previous"), link("index", "all games"), link("next", "next ›"))),
      el("section", { class: "board", "aria-label": "Board" }, parts.players[1], parts.board, parts.players[0], parts.slider,
        el("div", { class: "controls" }, ...Object.values(buttons),
          button("−", "Slower (−)", () => faster(-1)), parts.speed, button("+", "Faster (+)", () => faster(1)),
          button(icon("turn"), "Turn the board (f)", flip), Object.keys(files).length ? button(icon("save"), "Save the game (e)", save) : null,
          button(icon("theme"), "Light or dark (m)", theme), button("?", "Keys (?)", () => help.showModal()))),
      parts.moves, parts.detail, parts.chart, parts.words, help);

    function current() { return replay.plies[state.ply]; }

    function show(ply) {
      state.ply = Math.min(Math.max(ply, 0), replay.last);
      if (state.ply === replay.last && !replay.live) pause();
      draw();
    }

    function draw() {
      const ply = current(), first = state.flip ? 1 : 0;
      parts.board.replaceChildren(drawBoard(art, ply, faceNames[state.face], state.flip));
      parts.players.forEach((node, index) => {
        const side = index === 0 ? first : 1 - first;
        const { name, side: called } = replay.players[side];
        node.classList.toggle("to-move", (ply.to_move === "first") === (side === 0));
        node.replaceChildren(el("span", { class: "side" }, called), el("span", { class: "name", title: name }, name),
          ply.clocks_ms ? el("span", { class: "clock" }, clock(ply.clocks_ms[side])) : "");
      });
      parts.slider.max = replay.last;
      parts.slider.value = state.ply;
      parts.slider.setAttribute("aria-valuetext", ply.san ? `${ply.number} ${ply.san}` : "start");
      parts.detail.replaceChildren(...(ply.chosen ? moveDetail(ply) : [el("h2", {}, "Start"), el("p", { class: "quiet" }, "No move has been played.")]),
        ...(state.ply === replay.last && replay.open_attempts.length
          ? [el("h2", {}, `${replay.players[replay.open_side === "first" ? 0 : 1].side}’s next move never came`), ...replay.open_attempts.map(attemptBox)] : []));
      parts.words.textContent = `${ply.move_words ? `Ply ${ply.ply}: ${ply.move_words}. ` : "Start. "}${ply.words}`;
      buttons.start.disabled = buttons.back.disabled = state.ply === 0;
      buttons.on.disabled = buttons.end.disabled = state.ply === replay.last;
      buttons.play.replaceChildren(icon(state.playing ? "pause" : "play"));
      parts.speed.textContent = `${state.recorded ? "recorded" : "fixed"} × ${SPEEDS[state.speed]}`;
      for (const node of parts.moves.querySelectorAll("[aria-current]")) node.removeAttribute("aria-current");
      const here = parts.moves.querySelector(`[data-ply="${state.ply}"]`);
      if (here) {
        here.setAttribute("aria-current", "true");
        parts.moves.scrollTop = here.offsetTop - parts.moves.clientHeight / 2;
      } else parts.moves.scrollTop = 0;
      parts.chart.querySelector(".now")?.setAttribute("x", state.ply - 1);
    }

    /* What changes only when more is played: move list, chart, ending. */
    function build() {
      parts.ending.textContent = replay.detail ? `${replay.ending} (${replay.detail})` : replay.ending;
      parts.live.hidden = replay.status !== "playing";
      const list = el("ol");
      let row = null;
      for (const ply of replay.plies.slice(1)) {
        if (ply.side === "first" || !row) {
          row = el("li", {}, el("span", { class: "number" }, `${parseInt(ply.number, 10)}.`));
          if (ply.side === "second") row.append(el("span", { class: "quiet" }, "…"));
          list.append(row);
        }
        const failed = ply.chosen.attempts.some((attempt) => attempt.failure);
        row.append(el("button", { type: "button", "data-ply": ply.ply, class: failed ? "failed" : null,
          title: ply.move_words, onclick: () => show(ply.ply) }, ply.san));
      }
      for (const half of list.children) if (half.children.length < 3) half.append(el("span"));
      parts.moves.replaceChildren(list);
      parts.chart.replaceChildren(...chart());
    }

    function chart() {
      const times = replay.plies.slice(1).map((ply) => ply.chosen.latency);
      if (!times.some(Boolean)) return [el("p", { class: "quiet" }, "No times are recorded.")];
      const heights = times.map((time) => (time ? PARTS.reduce((sum, part) => sum + time[`${part}_ms`], 0) : 0));
      const top = Math.max(...heights) || 1;
      const bars = svg("svg", { viewBox: `0 0 ${times.length} 100`, preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { class: "now", x: state.ply - 1, y: 0, width: 1, height: 100 }));
      times.forEach((time, index) => {
        let y = 100;
        for (const part of time ? PARTS : []) {
          const height = (100 * time[`${part}_ms`]) / top;
          y -= height;
          if (height > 0) bars.append(svg("rect", { class: part, x: index + 0.1, y, width: 0.8, height }));
        }
      });
      bars.addEventListener("click", (event) => {
        const { left, width } = bars.getBoundingClientRect();
        show(Math.floor(((event.clientX - left) / width) * times.length) + 1);
      });
      const legend = PARTS.map((part) => el("span", {}, el("i", { class: part }), part));
      return [el("header", {}, el("h2", {}, "Latency of every move"), el("span", { class: "quiet" }, `the highest bar is ${milliseconds(top)}`),
        el("div", { class: "legend" }, ...legend)), bars];
    }

    function toggle() { if (state.playing) pause(); else { if (state.ply === replay.last) state.ply = 0; play(); } draw(); }
    function pause() { clearTimeout(state.playing); state.playing = null; }
    function play() {
      clearTimeout(state.playing);
      const next = replay.plies[state.ply + 1];
      const took = state.recorded && next?.chosen.latency ? next.chosen.latency.total_ms : 1000;
      state.playing = setTimeout(() => {
        show(state.ply + 1);
        if (state.playing) play();
      }, Math.max(took / SPEEDS[state.speed], SHORTEST_MS));
    }
    function faster(steps) {
      state.speed = Math.min(Math.max(state.speed + steps, 0), SPEEDS.length - 1);
      if (state.playing) play();
      draw();
    }
    function flip() { state.flip = !state.flip; draw(); }
    function theme() {
      const page = document.documentElement;
      const dark = page.dataset.theme ? page.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      page.dataset.theme = dark ? "light" : "dark";
    }
    function save() {
      for (const [name, text] of Object.entries(files)) {
        const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
        el("a", { href: address, download: name }).click();
        setTimeout(() => URL.revokeObjectURL(address), 1000);
      }
    }
    const go = (name) => () => { if (links[name]) location.assign(links[name]); };

    const actions = {
      ArrowLeft: () => show(state.ply - 1), ArrowRight: () => show(state.ply + 1), Home: () => show(0), End: () => show(replay.last),
      " ": toggle, "+": () => faster(1), "=": () => faster(1), "-": () => faster(-1), f: flip, m: theme, e: save,
      r: () => { state.recorded = !state.recorded; if (state.playing) play(); draw(); },
      t: () => { state.face = (state.face + 1) % faceNames.length; draw(); },
      n: go("next"), p: go("previous"), "/": go("index"), "?": () => (help.open ? help.close() : help.showModal()),
    };
    function onKey(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in actions)) return;
      if (event.key === " " && event.target instanceof HTMLButtonElement) event.target.blur();
      if (help.open && event.key !== "?") return;
      event.preventDefault();
      actions[event.key]();
    }
    document.addEventListener("keydown", onKey);

    const asked = /^#(\d+)$/.exec(location.hash);
    build();
    show(asked ? Number(asked[1]) : replay.live ? replay.last : 0);
    addEventListener("hashchange", () => { const ply = /^#(\d+)$/.exec(location.hash); if (ply) show(Number(ply[1])); });

    return {
      show,
      update(newer) {
        const following = state.ply === replay.last;
        replay = newer;
        build();
        show(following ? replay.last : state.ply);
      },
      close() { pause(); document.removeEventListener("keydown", onKey); },
    };
  }

  return { mount };
})();
