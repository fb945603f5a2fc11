/** Stores a value as the newest entry. If the map then has more than `maxSize` entries, drops the oldest entry. */
export function setNewest<K, V>(map: Map<K, V>, key: K, value: V, maxSize: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > maxSize && oldest !== undefined) map.delete(oldest);
}
