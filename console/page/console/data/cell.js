// A cell is an observable value.
import { useEffect, useReducer, useRef } from "preact/hooks";

export function cell(value) {
  const watchers = new Set();
  return {
    get value() {
      return value;
    },
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const watcher of [...watchers]) watcher(value);
    },
    // watch calls back with each new value and returns the function that stops it.
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

const whole = (value) => value;

// useCell redraws the component when the picked part of the cell changes.
export function useCell(watched, pick = whole) {
  const [, again] = useReducer((n) => n + 1, 0);
  const picked = pick(watched.value);
  const last = useRef(picked);
  last.current = picked;
  const picking = useRef(pick);
  picking.current = pick;
  useEffect(() => {
    const look = () => {
      if (!Object.is(picking.current(watched.value), last.current)) again();
    };
    look(); // it may have changed since the component was drawn
    return watched.watch(look);
  }, [watched]);
  return picked;
}
