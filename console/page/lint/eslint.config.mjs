// The rules of the console's modules, see TestConsoleIsTypedAndFormatted.
import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.browser },
    rules: { "no-unused-vars": ["error", { ignoreRestSiblings: true, varsIgnorePattern: "^_$" }] },
  },
  { files: ["**/data/messages.js"], rules: { "no-misleading-character-class": "off" } }, // it names invisible characters
];
