import { Big } from "big.js";

/*
 * Decides whether a spreadsheet may have turned one text into another. A spreadsheet rewrites texts that look like a
 * number, a date, a time, a truth value or a formula, in the notation of its language: `0017` becomes `17`, `12E3`
 * becomes 12,000, `5%` becomes 0.05, and `3-4` the third of April. Programs also replace hyphens, quotes and spaces by
 * similar characters. Texts with the same meaning in different notations are most likely one text: `1.1` and `1.10` are
 * one number. Texts in the same notation are compared as written: `1-2` and `2-1` differ.
 */

/** A day; the year in two digits, if there is one. */
interface Day {
  year?: number;
  month: number;
  day: number;
}

/** A text and its possible meanings. */
interface TextReading {
  /** The text with plain hyphens, quotes and spaces, and without the signs that make a cell a text or a formula. */
  text: string;
  isTrue?: boolean;
  numbers: Big[];
  /** The number of significant digits to which the number may have been rounded. */
  roundedTo?: number;
  days: Day[];
  /**
   * How a date is written. `two`, `three`: two or three short numbers, which may also be no date. `date`: with the name
   * of a month or a year of four digits. `serial`: as the number of a day.
   */
  form?: "two" | "three" | "date" | "serial";
  /** A time of day, in seconds. */
  time?: number;
}

const MAX_LENGTH = 40;
const PLAIN_NUMBER = /^[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:E[+-]?\d{1,3})?$/i;
const GROUPED_NUMBER = /^[+-]?\d{1,3}([.,' \u00a0\u202f])\d{3}(?:\1\d{3})*(?:[.,]\d+)?$/;
/** A spreadsheet keeps this many digits of a number. */
const KEPT_DIGITS = 15;
/** A spreadsheet does not round a number with fewer digits. */
const MIN_ROUNDED_DIGITS = 10;
/** A formula of whole numbers. */
const SUM = /^[=+-]\d+(?:[+-]\d+)+$/;

/** Truth values in some languages. */
const TRUE = /^(?:true|wahr|vrai|verdadero|verdadeiro|vero|waar|prawda|sand|sant|sann)$/i;
const FALSE = /^(?:false|falsch|faux|falso|onwaar|fałsz|falsk|falskt|usann)$/i;

const plainText = (text: string): string =>
  text
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "")
    .replace(/[\p{Pd}\u2212\u2043]/gu, "-")
    .replace(/[\u2018-\u201b\u2032\u00b4`]/g, "'")
    .replace(/[\u201c-\u201f\u2033\u00ab\u00bb]/g, '"')
    .replace(/\s+/g, " ")
    .trim();

/** The first three letters of the months in some languages, without accents. */
const MONTHS: readonly string[] = [
  ...["jan ene gen", "feb fev", "mar maa mrz", "apr avr abr", "may mai mei mag", "jun jui giu"],
  ...["jul lug", "aug aou ago", "sep set", "oct okt ott out", "nov", "dec dez dic"],
];
/** Days of the years 2000 to 2050 as spreadsheets number them. */
const [FIRST_SERIAL, LAST_SERIAL] = [36_526, 54_788];

/** Reads the numbers that a text may mean. `isCut`: at least three digits follow the fifteenth, and all are zeros. */
function readNumbers(text: string): Pick<TextReading, "numbers" | "roundedTo"> & { isCut?: true } {
  const numbers: Big[] = [];
  const [, wrapped = "", percent = ""] = /^[$€£¥]? ?(.+?) ?([%$€£¥]?)$/.exec(text) ?? [];
  if (percent === "%") return { numbers: readNumbers(wrapped).numbers.map((number) => number.div(100)) };
  if (wrapped !== text && wrapped !== "") return { numbers: readNumbers(wrapped).numbers };
  // Bookkeepers write a negative number in parentheses, or with the sign behind it.
  const [, inside, before] = /^(?:\((.+)\)|(\d.*)-)$/.exec(text) ?? [];
  const negative = inside ?? before;
  if (negative !== undefined) return { numbers: readNumbers(negative).numbers.map((number) => number.neg()) };
  if (SUM.test(text))
    numbers.push((text.match(/[+-]?\d+/g) ?? []).reduce((sum, one) => sum.plus(one.replace("+", "")), new Big(0)));
  if (PLAIN_NUMBER.test(text))
    numbers.push(
      new Big(
        text
          .replace(",", ".")
          .replace(/\.(?=E|$)/i, "")
          .replace("+", ""),
      ),
    );
  const separator = GROUPED_NUMBER.exec(text)?.[1];
  if (separator !== undefined) numbers.push(new Big(text.replaceAll(separator, "").replace(",", ".").replace("+", "")));
  const [mantissa = "", exponent] = text.toUpperCase().split("E");
  const digits = mantissa.replace(/\D/g, "").replace(/^0+/, "");
  if (exponent !== undefined && numbers.length > 0) return { numbers, roundedTo: Math.max(1, digits.length) };
  return isLong(digits) && /^0{3,}$/.test(digits.slice(KEPT_DIGITS)) ? { numbers, isCut: true } : { numbers };
}

const isLong = (digits: string) => /^\d+$/.test(digits) && digits.length > KEPT_DIGITS;

/** Whether a spreadsheet has cut the last digits of all long numbers: ordinary numbers do not all end in zeros. */
export function areCut(keys: Iterable<string>): boolean {
  const long = [...keys].map((key) => key.trim()).filter(isLong);
  return long.length > 0 && long.every((key) => readNumbers(key).isCut);
}

const isDay = ({ month, day }: Day) => month >= 1 && month <= 12 && day >= 1 && day <= 31;

function monthOf(word: string): number {
  const letters = word.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  if (letters.startsWith("juil")) return 7;
  return letters.length < 3 ? 0 : 1 + MONTHS.findIndex((names) => names.split(" ").includes(letters.slice(0, 3)));
}

/** Returns the days that a text may mean. The text has two or three parts. At most one part is the name of a month. */
function readDays(text: string): Pick<TextReading, "days" | "form"> {
  const date = text.replace(/[T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?Z?$/, "");
  if (!/^[\p{L}\d]+(?:[\s.,/-]*[\p{L}\d]+)*\.?$/u.test(date)) return { days: [] };
  const parts = date.match(/\p{L}+|\d+/gu) ?? [];
  const words = parts.filter((part) => !/\d/.test(part));
  const numbers = parts.filter((part) => /\d/.test(part));
  const [one = 0, two = 0, three = 0] = numbers.map(Number);
  if (numbers.some((number) => number.length > 4) || words.length > 1 || parts.length > 3 || parts.length < 2)
    return { days: [] };
  const found = (form: "two" | "three" | "date", days: Day[]): Pick<TextReading, "days" | "form"> => {
    const valid = days.filter(isDay).map((day) => ("year" in day ? { ...day, year: (day.year ?? 0) % 100 } : day));
    return valid.length > 0 ? { form, days: valid } : { days: [] };
  };
  const month = words[0] === undefined ? undefined : monthOf(words[0]);
  if (month === 0) return { days: [] };
  if (month !== undefined && numbers.length === 1)
    return found("date", [
      { month, day: one },
      { month, day: 1, year: one },
    ]);
  if (month !== undefined)
    return found("date", [
      { month, day: one, year: two },
      { month, day: two, year: one },
    ]);
  const [first = "", , last = ""] = numbers;
  if (numbers.length === 2 && numbers.every(({ length }) => length <= 2))
    return found("two", [
      { month: one, day: two },
      { month: two, day: one },
    ]);
  if (numbers.length !== 3) return { days: [] };
  if (first.length === 4) return found("date", [{ year: one, month: two, day: three }]);
  const ends = [
    { day: one, month: two, year: three },
    { month: one, day: two, year: three },
  ];
  if (last.length === 4) return found("date", ends);
  return numbers.every(({ length }) => length <= 2)
    ? found("three", [...ends, { year: one, month: two, day: three }])
    : { days: [] };
}

function readSerial(text: string): Day | undefined {
  const serial = Number(text);
  if (!/^\d{5}$/.test(text) || serial < FIRST_SERIAL || serial > LAST_SERIAL) return undefined;
  const date = new Date(Date.UTC(1899, 11, 30 + serial));
  return { year: date.getUTCFullYear() % 100, month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

function readTime(text: string): number | undefined {
  const [all, hours, minutes, seconds = 0, half] = /^(\d{1,2}):(\d{1,2})(?::(\d{1,2}))?\s*([AP]M)?$/i.exec(text) ?? [];
  if (all === undefined) return undefined;
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (/^p/i.test(half) ? 12 : 0);
  return hour * 3_600 + Number(minutes) * 60 + Number(seconds);
}

/** `isCutFile`: whether a number whose last digits are zeros was rounded, see {@link areCut}. */
function readNotation(given: string, isCutFile = false): TextReading {
  const plain = plainText(given);
  // `="0017"`, `=1` and `'17` are cells with the contents `0017`, `1` and `17`.
  const text = SUM.test(plain) ? plain : plain.replace(/^="(.*)"$|^[=']/, "$1");
  if (TRUE.test(text) || FALSE.test(text)) return { text, numbers: [], days: [], isTrue: TRUE.test(text) };
  if (text.length > MAX_LENGTH || !/\d/.test(text)) return { text, numbers: [], days: [] };
  const serial = readSerial(text);
  const time = readTime(text);
  const dates: Pick<TextReading, "days" | "form"> = serial ? { days: [serial], form: "serial" } : readDays(text);
  const { isCut, ...numbers } = readNumbers(text);
  const roundedTo = isCut && isCutFile ? { roundedTo: KEPT_DIGITS } : {};
  return { text, ...numbers, ...roundedTo, ...dates, ...(time !== undefined && { time }) };
}

/** Returns the forms of a text. Two notations of the same text share a form, unless one of them was rounded. */
const comparableForms = ({ text, numbers, days, time, isTrue }: TextReading): string[] => [
  `"${text}"`,
  ...(isTrue === undefined ? [] : [String(isTrue)]),
  ...numbers.map((number) => number.toExponential()),
  ...days.map(({ month, day }) => `${month}-${day}`),
  ...(time === undefined ? [] : [`${time} s`]),
];

const digitsOf = (number: Big) => number.toExponential().replace(/e.*/, "").replace(/\D/g, "").length;

/** The numbers of digits to which a number may be rounded. */
const ROUNDED_DIGITS = Array.from({ length: KEPT_DIGITS }, (_, index) => index + 1);

/** Returns a number rounded to some digits, up and down; nothing if the number is too short to be rounded. */
const roundedForms = ({ numbers }: TextReading, digits: number): string[] =>
  numbers
    .filter((number) => digitsOf(number) >= MIN_ROUNDED_DIGITS)
    .flatMap((number) => ([0, 1] as const).map((mode) => number.prec(digits, mode).toExponential()));

/** Whether two texts that are not equal are the same thing in different notations. */
function isOtherNotation(one: TextReading, other: TextReading): boolean {
  if (one.text === other.text || (one.isTrue !== undefined && one.isTrue === other.isTrue)) return true;
  const isNumber = one.numbers.some((number) => other.numbers.some((same) => number.eq(same)));
  return (
    isNumber ||
    isRoundedFrom(one, other) ||
    isRoundedFrom(other, one) ||
    isSameDate(one, other) ||
    (one.time !== undefined && one.time === other.time)
  );
}

/** Whether a number may be the rounded exact number: `12345678901234567890` becomes `1.23457E+19`, or ends in zeros. */
function isRoundedFrom({ numbers, roundedTo }: TextReading, exact: TextReading): boolean {
  if (roundedTo === undefined) return false;
  const places = Math.min(roundedTo, KEPT_DIGITS);
  return exact.numbers.some(
    (whole) =>
      digitsOf(whole) >= MIN_ROUNDED_DIGITS &&
      numbers.some((number) => number.eq(whole.prec(places, 0)) || number.eq(whole.prec(places, 1))),
  );
}

/** Returns where a text has numbers and words: `9-x` for `3-Apr`. */
const textShape = (text: string) => text.replace(/\d+/g, "9").replace(/\p{L}+/gu, "x");
const textParts = (text: string) =>
  (text.match(/\d+|\p{L}+/gu) ?? []).map((part) => part.replace(/^0+(?=\d)/, "")).join(" ");

function isSameDate(one: TextReading, other: TextReading): boolean {
  const forms = [one.form, other.form];
  if (forms.includes(undefined) || (one.form === "serial" && other.form === "serial")) return false;
  const isShort = one.form !== "date" && one.form === other.form;
  if (isShort || textShape(one.text) === textShape(other.text)) return textParts(one.text) === textParts(other.text);
  const isVague = forms.includes("two") && !forms.includes("date");
  return one.days.some((day) =>
    other.days.some((same) => {
      const years = [day.year, same.year].filter((year) => year !== undefined);
      if (day.month !== same.month || day.day !== same.day) return false;
      if (years.length === 2) return years[0] === years[1];
      return !isVague || (years.every(isRecent) && [one, other].every(isPadded));
    }),
  );
}

/** Whether a spreadsheet may have added this year, of two digits, to a date without a year: next year, or a recent year. */
const isRecent = (year: number) => {
  const age = (new Date().getFullYear() + 1 - year) % 100;
  return age <= MAX_AGE_YEARS + 1;
};
const MAX_AGE_YEARS = 10;

/** Whether a short date is written as spreadsheets do, `03.04.26`. A key such as `1-2-3` is not. */
const isPadded = ({ text, form }: TextReading) => form !== "three" || /^\d{2}\D\d{2}\D\d{2}$/.test(text);

interface Indexed<T> {
  text: string;
  named: T;
  reading: TextReading;
}

const MAX_ALIKE = 50;

/** An index of texts that finds the other notations of a text. */
export class Notations<T> {
  readonly #all: Indexed<T>[] = [];
  readonly #byForm = new Map<string, Indexed<T>[]>();
  /** The texts that were most likely rounded. */
  readonly #rounded = new Map<string, Indexed<T>[]>();
  /** All texts in rounded form, by number of digits. Created when a rounded text is searched for. */
  readonly #byRoundedForm = new Map<number, Map<string, Indexed<T>[]>>();

  /** `isCutFile`: whether the file has lost the last digits of its long numbers, see {@link areCut}. */
  constructor(readonly isCutFile = false) {}

  add(text: string, named: T): void {
    const reading = readNotation(text, this.isCutFile);
    const indexed = { text, named, reading };
    const forms = comparableForms(reading);
    this.#all.push(indexed);
    addToIndex(this.#byForm, forms, indexed);
    if (reading.roundedTo !== undefined) addToIndex(this.#rounded, forms, indexed);
  }

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** Returns up to `MAX_ALIKE` texts that mean the same in another notation. */
  alike(text: string): { text: string; named: T }[] {
    const reading = readNotation(text);
    const found = new Set<Indexed<T>>();
    for (const one of this.#candidates(reading)) {
      if (one.text !== text && isOtherNotation(one.reading, reading)) found.add(one);
      if (found.size >= MAX_ALIKE) break;
    }
    return [...found];
  }

  *#candidates(reading: TextReading): Generator<Indexed<T>> {
    for (const form of comparableForms(reading)) yield* this.#byForm.get(form) ?? [];
    if (this.#rounded.size > 0)
      for (const digits of ROUNDED_DIGITS)
        for (const form of roundedForms(reading, digits)) yield* this.#rounded.get(form) ?? [];
    const { roundedTo: digits } = reading;
    if (digits !== undefined)
      for (const number of reading.numbers)
        yield* this.#asRounded(Math.min(digits, ROUNDED_DIGITS.length)).get(number.toExponential()) ?? [];
  }

  #asRounded(digits: number): Map<string, Indexed<T>[]> {
    const made = this.#byRoundedForm.get(digits) ?? new Map<string, Indexed<T>[]>();
    if (made.size === 0) for (const one of this.#all) addToIndex(made, roundedForms(one.reading, digits), one);
    this.#byRoundedForm.set(digits, made);
    return made;
  }
}

function addToIndex<One>(by: Map<string, One[]>, forms: readonly string[], one: One): void {
  for (const form of new Set(forms)) {
    const same = by.get(form);
    if (same) same.push(one);
    else by.set(form, [one]);
  }
}
