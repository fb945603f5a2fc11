export const findInexactNumbers = (_text: string): [] => [];
