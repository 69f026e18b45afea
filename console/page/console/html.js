// What every part of the page is written with.
import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);
