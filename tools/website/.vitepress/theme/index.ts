// The fonts of the system: nothing to load.
import theme from "vitepress/theme-without-fonts";
import "./style.css";

export default theme;
