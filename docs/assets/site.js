"use strict";
// The search of the theme is a dialog without a name; tables that scroll, which the theme wraps late, need the keyboard.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
const reach = () => {
  for (const part of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
    if (part.scrollWidth > part.clientWidth) part.setAttribute("tabindex", "0");
  }
};
addEventListener("load", () => setTimeout(reach));
addEventListener("resize", reach);
