// This theme uses fonts of the system, so that no font has to be loaded.
import { inBrowser, type Theme } from "vitepress";
import theme from "vitepress/theme-without-fonts";
import "./style.css";

/** Opens the folded sections around the target of a link. */
function unfoldTarget(): void {
  let element = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest("details");
  for (; element; element = element.parentElement?.closest("details")) element.open = true;
}

export default {
  extends: theme,
  enhanceApp({ router }) {
    if (!inBrowser) return;
    window.addEventListener("hashchange", unfoldTarget);
    router.onAfterRouteChange = () => void setTimeout(unfoldTarget);
  },
} satisfies Theme;
