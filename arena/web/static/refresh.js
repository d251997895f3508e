// Keeps the part of a page named `refreshed` up to date by loading the page again and taking that part from it.
"use strict";

const EVERY_MS = 3000;

async function refresh() {
  if (!document.hidden) {
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (answer.ok) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const id of ["refreshed", "run-status"]) {
          const now = fresh.getElementById(id);
          if (now) document.getElementById(id).replaceWith(document.adoptNode(now));
        }
        if (document.getElementById("run-status").textContent !== "running") return;
      }
    } catch (error) {
      console.warn("the server does not answer; trying again", error);
    }
  }
  setTimeout(refresh, EVERY_MS);
}

setTimeout(refresh, EVERY_MS);
