/** Stores a value as the newest one. If there are then more than `maxSize`, the oldest one is dropped. */
export function setNewest<K, V>(map: Map<K, V>, key: K, value: V, maxSize: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > maxSize && oldest !== undefined) map.delete(oldest);
}
