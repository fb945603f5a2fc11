/** What the doctor found about one aspect of the service or the set-up. */
export interface Finding {
  aspect: string;
  /**
   * - `ok`: as documented
   * - `note`: differs from the document, or cannot be determined; programs work
   * - `problem`: something will not work
   */
  verdict: "ok" | "note" | "problem";
  summary: string;
  /** What to do, or what follows from it. */
  hint?: string;
}

export const ok = (aspect: string, summary: string): Finding => ({ aspect, verdict: "ok", summary });

export const note = (aspect: string, summary: string, hint: string): Finding => ({
  aspect,
  verdict: "note",
  summary,
  hint,
});

export const problem = (aspect: string, summary: string, hint: string): Finding => ({
  aspect,
  verdict: "problem",
  summary,
  hint,
});
