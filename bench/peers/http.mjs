/** HTTP clients, each used as its own documentation says for a JSON API with a bearer token. */
import axios from "axios";
import got from "got";
import ky from "ky";
import createOpenApiClient from "openapi-fetch";
import { request } from "undici";

/** What all of them are held against: a request, and its body through JSON.parse. */
export function openFloor(baseUrl, token) {
  const headers = { authorization: `Bearer ${token}` };
  const read = async (url) => {
    const { statusCode, body } = await request(url, { headers });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`HTTP ${statusCode}`);
    return JSON.parse(text);
  };
  return {
    name: "undici.request",
    getItem: (shortID) => read(`${baseUrl}/Item?key=${encodeURIComponent(shortID)}&type=id`),
    getPage: (page) => read(`${baseUrl}/Inventory?page=${page}&pageSize=250`),
  };
}

export async function openHttpPeers(baseUrl, token, generatedClient) {
  const headers = { authorization: `Bearer ${token}` };

  const fetchJson = async (url) => {
    const response = await fetch(url, { headers });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return response.json();
  };

  const gotClient = got.extend({ prefixUrl: baseUrl, headers });
  const kyClient = ky.create({ prefixUrl: baseUrl, headers });
  const axiosClient = axios.create({ baseURL: baseUrl, headers });

  const openApiClient = createOpenApiClient({ baseUrl, headers });
  const openApiGet = async (path, query) => {
    const { data, error } = await openApiClient.GET(path, { params: { query } });
    if (error) throw new Error(JSON.stringify(error));
    return data;
  };

  const { client } = await import(new URL("client.gen.ts", generatedClient).href);
  const { getItem, listLots } = await import(new URL("sdk.gen.ts", generatedClient).href);
  client.setConfig({ baseUrl, auth: () => token, throwOnError: true });

  const item = (shortID) => ({ key: shortID, type: "id" });
  const lots = (page) => ({ page, pageSize: 250 });
  return [
    {
      name: "global fetch",
      getItem: (shortID) => fetchJson(`${baseUrl}/Item?${new URLSearchParams(item(shortID))}`),
      getPage: (page) => fetchJson(`${baseUrl}/Inventory?${new URLSearchParams(lots(page))}`),
    },
    {
      name: "got",
      getItem: (shortID) => gotClient.get("Item", { searchParams: item(shortID) }).json(),
      getPage: (page) => gotClient.get("Inventory", { searchParams: lots(page) }).json(),
    },
    {
      name: "ky",
      getItem: (shortID) => kyClient.get("Item", { searchParams: item(shortID) }).json(),
      getPage: (page) => kyClient.get("Inventory", { searchParams: lots(page) }).json(),
    },
    {
      name: "axios",
      getItem: async (shortID) => (await axiosClient.get("/Item", { params: item(shortID) })).data,
      getPage: async (page) => (await axiosClient.get("/Inventory", { params: lots(page) })).data,
    },
    {
      name: "openapi-fetch",
      getItem: (shortID) => openApiGet("/Item", item(shortID)),
      getPage: (page) => openApiGet("/Inventory", lots(page)),
    },
    {
      name: "hey-api + zod",
      getItem: async (shortID) => (await getItem({ query: item(shortID) })).data,
      getPage: async (page) => (await listLots({ query: lots(page) })).data,
    },
  ];
}
