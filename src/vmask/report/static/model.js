"use strict";
// The page is complete without this script. It adds: searching and sorting all words, what a point of the scatter plot
// is, one view of the texts at a time, and buttons that copy code. Texts reach the page as textContent alone.
(() => {
  const root = document.documentElement;
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  root.classList.add("js");

  const element = (name, attributes = {}, text = "") => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };
  const thousands = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

  // Words -------------------------------------------------------------------------------------------------------
  const source = find("#word-data");
  const data = source ? JSON.parse(source.textContent) : { labels: [], words: [], clear: 0, min_count: 1 };
  const names = ["word", "importance", "count", "label", "log_odds", "z", "here", "texts", "known"];
  const words = data.words.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])));
  const STEP = 50;

  const odds = (logOdds) => {
    const times = Math.exp(logOdds);
    if (times > 999) return "> ×999";
    return "×" + (times < 9.95 ? times.toFixed(1) : times.toFixed(0));
  };
  const colour = (word) => {
    if (data.labels.length > 7) return "k0";
    return word.label >= 0 && word.z >= data.clear ? "k" + word.label : "kx";
  };
  const leaning = (word) =>
    `${thousands(word.here)} of its ${thousands(word.texts)} texts are ${data.labels[word.label]}; z = ${word.z.toFixed(1)}`;

  const row = (word) => {
    const line = element("tr");
    const head = element("th", { dir: "auto" }, word.word);
    if (!word.known) {
      head.append(" ", element("small", { title: "not in the word vectors" }, "no vector"));
    }
    const importance = element("td", { class: "num" });
    const meter = element("span", { class: "meter" });
    const bar = element("i");
    bar.style.width = `${Math.round(100 * word.importance)}%`;
    meter.append(bar);
    importance.append(meter, word.importance.toFixed(3));
    line.append(head, importance, element("td", { class: "num" }, thousands(word.count)));
    if (word.label < 0) {
      line.append(element("td"), element("td"));
    } else {
      const title = leaning(word);
      line.append(element("td", { class: `lean ${colour(word)}`, dir: "auto", title }, data.labels[word.label]));
      line.append(element("td", { class: word.z >= data.clear ? "num" : "num soft", title }, odds(word.log_odds)));
    }
    return line;
  };

  const startTable = () => {
    const body = find(".word-table tbody");
    const search = find("#word-search");
    const slider = find("#word-count");
    const least = find("#word-least");
    const chosen = find("#word-class");
    const more = find("#word-more");
    const found = find("#word-found");
    const greatest = words.reduce((most, word) => Math.max(most, word.count), 1);
    const counts = [];
    for (let power = 1; power <= greatest; power *= 10) {
      counts.push(...[1, 2, 3, 5].map((digit) => digit * power).filter((count) => count <= greatest));
    }
    let sorted = "importance";
    let downwards = true;
    let shown = STEP;
    slider.max = String(counts.length - 1);
    slider.value = String(Math.max(counts.indexOf(data.min_count), 0));

    const compare = (a, b) => {
      const [one, other] = sorted === "label" ? [data.labels[a.label] || "", data.labels[b.label] || ""] : [a[sorted], b[sorted]];
      const order = one < other ? -1 : one > other ? 1 : 0;
      return (downwards ? -order : order) || b.importance - a.importance || b.count - a.count;
    };
    const draw = () => {
      const wanted = search.value.trim().toLowerCase();
      const count = counts[Number(slider.value)];
      const label = chosen.selectedIndex - 1;
      least.textContent = thousands(count);
      slider.setAttribute("aria-valuetext", `${count} times or more`);
      const kept = words.filter(
        (word) =>
          word.count >= count &&
          (!wanted || word.word.toLowerCase().includes(wanted)) &&
          (label < 0 || (word.label === label && word.z >= data.clear)),
      );
      kept.sort(compare);
      body.replaceChildren(...kept.slice(0, shown).map(row));
      found.textContent = kept.length
        ? `${thousands(Math.min(shown, kept.length))} of ${thousands(kept.length)} word${kept.length === 1 ? "" : "s"}`
        : "No such word here.";
      more.hidden = kept.length <= shown;
    };
    const anew = () => {
      shown = STEP / 2;
      draw();
    };
    for (const head of all(".word-table th[data-sort]")) {
      const button = element("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const key = head.dataset.sort;
        downwards = key === sorted ? !downwards : key !== "word" && key !== "label";
        sorted = key;
        for (const other of all(".word-table th[data-sort]")) {
          other.setAttribute("aria-sort", other === head ? (downwards ? "descending" : "ascending") : "none");
        }
        anew();
      });
    }
    search.addEventListener("input", anew);
    slider.addEventListener("input", anew);
    chosen.addEventListener("change", anew);
    more.addEventListener("click", () => {
      shown += 2 * STEP;
      draw();
    });
    find(".controls").hidden = false;
    anew();
  };
  if (words.length) startTable();

  // Scatter plot ------------------------------------------------------------------------------------------------
  const startScatter = (picture) => {
    const tip = find(".tip", picture.parentElement);
    const at = Object.fromEntries(Object.entries(picture.dataset).map(([key, value]) => [key, Number(value)]));
    const x = (count) => at.left + ((at.right - at.left) * Math.log(count)) / Math.log(at.most);
    const y = (score) => at.top + ((at.bottom - at.top) * (at.high - score)) / (at.high - at.low);
    const pointOf = (one) =>
      typeof one === "number" ? words[one] : { word: one[0], importance: one[1], count: one[2], label: -1 };
    const marked = all(".named", picture).map((mark) => words[Number(mark.dataset.row)]);
    const points = [...marked, ...data.drawn.map(pointOf)].map((word) => [x(word.count), y(word.importance), word]);
    const scale = () => picture.getBoundingClientRect().width / picture.viewBox.baseVal.width;
    const NEAR = 14;

    const show = (word) => {
      const size = scale();
      const lines = [element("b", { dir: "auto" }, word.word)];
      lines.push(`importance ${word.importance.toFixed(3)}, ${thousands(word.count)} time${word.count === 1 ? "" : "s"}`);
      if (word.label >= 0) lines.push(element("br"), `typical of ${data.labels[word.label]}${word.z >= data.clear ? "" : " (not clearly)"}`);
      tip.replaceChildren(...lines);
      tip.hidden = false;
      const width = picture.parentElement.clientWidth;
      const left = Math.min(Math.max(x(word.count) * size - tip.offsetWidth / 2, 0), width - tip.offsetWidth);
      const above = y(word.importance) * size - tip.offsetHeight - 12;
      tip.style.left = `${left}px`;
      tip.style.top = `${above < 0 ? y(word.importance) * size + 14 : above}px`;
    };
    const hide = () => {
      tip.hidden = true;
    };
    picture.addEventListener("pointermove", (event) => {
      const box = picture.getBoundingClientRect();
      const size = scale();
      const [px, py] = [(event.clientX - box.left) / size, (event.clientY - box.top) / size];
      let best = null;
      let nearest = (NEAR / size) ** 2;
      for (const [wx, wy, word] of points) {
        const far = (wx - px) ** 2 + (wy - py) ** 2;
        if (far < nearest) [best, nearest] = [word, far];
      }
      best ? show(best) : hide();
    });
    picture.addEventListener("pointerleave", hide);
    for (const mark of all(".named", picture)) {
      const title = find("title", mark);
      if (title) title.remove(); // the tip says the same, and more
      mark.addEventListener("focus", () => show(words[Number(mark.dataset.row)]));
      mark.addEventListener("blur", hide);
    }
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
    });
  };
  if (words.length && find(".scatter")) startScatter(find(".scatter"));

  // Views of texts ----------------------------------------------------------------------------------------------
  const choose = (within, name) => {
    for (const view of all(".view", within)) view.hidden = name !== "" && view.dataset.view !== name;
    for (const button of all(".switch button", within)) {
      button.setAttribute("aria-pressed", String(button.dataset.view === name));
    }
    for (const example of within.matches(".example") ? [within] : all(".example", within)) {
      example.classList.toggle("one", name !== "");
    }
  };
  const section = find("#texts");
  if (section && find(".all-views", section)) {
    for (const group of all(".switch", section)) group.hidden = false;
    for (const button of all(".all-views button", section)) {
      button.addEventListener("click", () => choose(section, button.dataset.view));
    }
    for (const example of all(".example", section)) {
      for (const button of all(".switch button", example)) {
        button.addEventListener("click", () => choose(example, button.dataset.view));
      }
    }
    choose(section, find(".all-views button", section).dataset.view);
  }

  // Copying -----------------------------------------------------------------------------------------------------
  for (const button of all(".copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = find("code", button.closest(".code"));
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
      }
      setTimeout(() => {
        button.textContent = "Copy";
      }, 1500);
    });
  }
})();
