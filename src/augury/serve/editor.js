"use strict";
// Teaches Ace the language: its colours, and the words that complete a text.
window.augury = (() => {
  const facts = JSON.parse(document.getElementById("augury-facts").textContent);
  const words = {current: facts.words};

  ace.define("ace/mode/augury", ["require", "exports", "module"], (require, exports) => {
    const oop = ace.require("ace/lib/oop");
    const TextMode = ace.require("ace/mode/text").Mode;
    const TextRules = ace.require("ace/mode/text_highlight_rules").TextHighlightRules;
    const Rules = function () { this.$rules = facts.rules; };
    oop.inherits(Rules, TextRules);
    const Mode = function () {
      this.HighlightRules = Rules;
      this.$behaviour = this.$defaultBehaviour;
    };
    oop.inherits(Mode, TextMode);
    Mode.prototype.attachToSession = (session) => session.setUseWrapMode(true);
    Mode.prototype.lineCommentStart = "--";
    Mode.prototype.$id = "ace/mode/augury";
    exports.Mode = Mode;
  });

  const plain = /^[\p{L}_][\p{L}\p{N}_]*( [A-Z]+)*$/u;
  const completer = {
    getCompletions: (editor, session, position, prefix, done) => {
      const before = session.getLine(position.row).slice(0, position.column - prefix.length);
      // After a variable and a dot only its attributes can follow.
      const attributes = /\.\s*$/.test(before);
      const fitting = words.current.filter(([, kind, isColumn]) => !attributes || isColumn);
      done(null, fitting.map(([word, kind, isColumn]) => ({
        caption: word, value: plain.test(word) ? word : "`" + word.replaceAll("`", "``") + "`", meta: kind, score: isColumn ? 2 : 1,
      })));
    },
  };
  ace.require("ace/ext/language_tools").setCompleters([completer]);
  ace.config.setDefaultValue("editor", "enableLiveAutocompletion", true);

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    document.querySelector(".run").shadowRoot.querySelector("button").click();
  });
  return {words};
})();
