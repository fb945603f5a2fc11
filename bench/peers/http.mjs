/**
 * HTTP clients, each used as its own documentation shows for a JSON API with a bearer token. Each is loaded when it is
 * opened, so that a process contains only the one that it measures.
 */

const item = (shortID) => ({ key: shortID, type: "id" });
const lots = (page) => ({ page, pageSize: 250 });

const bearer = (token) => ({ authorization: `Bearer ${token}` });

export const httpPeers = {
  /** The floor of all comparisons: a request, and JSON.parse of its body. */
  async "undici.request"({ baseUrl, token }) {
    const { request } = await import("undici");
    const headers = bearer(token);
    const read = async (url) => {
      const { statusCode, body } = await request(url, { headers });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`HTTP ${statusCode}`);
      return JSON.parse(text);
    };
    return {
      getItem: (shortID) => read(`${baseUrl}/Item?key=${encodeURIComponent(shortID)}&type=id`),
      getPage: (page) => read(`${baseUrl}/Inventory?page=${page}&pageSize=250`),
    };
  },

  async "global fetch"({ baseUrl, token }) {
    const headers = bearer(token);
    const read = async (url) => {
      const response = await fetch(url, { headers });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      return response.json();
    };
    return {
      getItem: (shortID) => read(`${baseUrl}/Item?${new URLSearchParams(item(shortID))}`),
      getPage: (page) => read(`${baseUrl}/Inventory?${new URLSearchParams(lots(page))}`),
    };
  },

  async got({ baseUrl, token }) {
    const { got } = await import("got");
    const client = got.extend({ prefixUrl: baseUrl, headers: bearer(token) });
    return {
      getItem: (shortID) => client.get("Item", { searchParams: item(shortID) }).json(),
      getPage: (page) => client.get("Inventory", { searchParams: lots(page) }).json(),
    };
  },

  async ky({ baseUrl, token }) {
    const { default: ky } = await import("ky");
    const client = ky.create({ prefixUrl: baseUrl, headers: bearer(token) });
    return {
      getItem: (shortID) => client.get("Item", { searchParams: item(shortID) }).json(),
      getPage: (page) => client.get("Inventory", { searchParams: lots(page) }).json(),
    };
  },

  async axios({ baseUrl, token }) {
    const { default: axios } = await import("axios");
    const client = axios.create({ baseURL: baseUrl, headers: bearer(token) });
    return {
      getItem: async (shortID) => (await client.get("/Item", { params: item(shortID) })).data,
      getPage: async (page) => (await client.get("/Inventory", { params: lots(page) })).data,
    };
  },

  async "openapi-fetch"({ baseUrl, token }) {
    const { default: createClient } = await import("openapi-fetch");
    const client = createClient({ baseUrl, headers: bearer(token) });
    const get = async (path, query) => {
      const { data, error } = await client.GET(path, { params: { query } });
      if (error) throw new Error(JSON.stringify(error));
      return data;
    };
    return {
      getItem: (shortID) => get("/Item", item(shortID)),
      getPage: (page) => get("/Inventory", lots(page)),
    };
  },

  async "hey-api + zod"({ baseUrl, token, generatedClient }) {
    const { client } = await import(new URL("client.gen.ts", generatedClient).href);
    const { getItem, listLots } = await import(new URL("sdk.gen.ts", generatedClient).href);
    client.setConfig({ baseUrl, auth: () => token, throwOnError: true });
    return {
      getItem: async (shortID) => (await getItem({ query: item(shortID) })).data,
      getPage: async (page) => (await listLots({ query: lots(page) })).data,
    };
  },
};
