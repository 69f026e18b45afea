// What the DOM has and its types leave out.
interface Element {
  focus?(options?: FocusOptions): void;
}
