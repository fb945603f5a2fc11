import { runMainPath } from "./main-path.mjs";

export default {
  async test(_, { ARGUMENT }) {
    console.log(JSON.stringify(await runMainPath(ARGUMENT)));
  },
};
