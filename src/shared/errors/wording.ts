/** Phrases of the mirror's messages. */
const MIRROR_WORDING = {
  acceptAccount: "call run({ acceptAccount: true })",
  orReadIncomplete: ", or open the copy with the option incomplete: true",
};

export const wording = (): Readonly<typeof MIRROR_WORDING> => MIRROR_WORDING;
