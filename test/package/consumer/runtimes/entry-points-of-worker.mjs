import { useEntryPoints } from "./entry-points.mjs";

export default {
  async test(_, { ARGUMENT }) {
    console.log(JSON.stringify(await useEntryPoints(ARGUMENT)));
  },
};
