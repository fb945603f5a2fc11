let lastSecond = Number.NaN;
let lastText = "";

/** A time as HTTP headers give it. The text of the last second is kept, since most requests share it. */
export function httpDate(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastText = new Date(second * 1000).toUTCString();
  }
  return lastText;
}
