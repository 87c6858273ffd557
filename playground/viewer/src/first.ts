// Says which theme a page has, before its body is there: it would show the other one for a moment.

import { isDark, onTheme } from "./theme";

function say() {
  const name = isDark() ? "dark" : "light";
  document.documentElement.dataset.theme = name;
  document.querySelector<HTMLMetaElement>("meta[name=color-scheme]")!.content = name; // of the browser's own controls
}

say();
onTheme(say);
