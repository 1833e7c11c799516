// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/flame_graph.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <memory>
#include <string_view>

#include "measure/quantity.hpp"

namespace holdfast::cli::report {
namespace {

constexpr double picture_width = 1200, margin = 10, row_height = 18, head = 64, foot = 34;
constexpr double narrowest = 0.15; // of a box that is drawn
constexpr double character = 6.6;  // of the font, as far as it is known

struct node {
    std::map<stack_level, std::unique_ptr<node>> callees{};
    std::uint64_t waits = 0;
    std::uint64_t waited_ns = 0;

    std::size_t depth() const {
        std::size_t most = 0;
        for (const auto &[level, callee] : callees)
            most = std::max(most, callee->depth() + 1);
        return most;
    }
};

void add_to(node &root, const waiting_stack &stack) {
    node *at = &root;
    at->waits += stack.waits;
    at->waited_ns += stack.waited_ns;
    for (const stack_level &each : stack.levels) {
        auto &next = at->callees[each];
        if (!next)
            next = std::make_unique<node>();
        at = next.get();
        at->waits += stack.waits;
        at->waited_ns += stack.waited_ns;
    }
}

std::string escaped_for_xml(std::string_view text) {
    std::string safe;
    for (char c : text) {
        switch (c) {
        case '&': safe += "&amp;"; break;
        case '<': safe += "&lt;"; break;
        case '>': safe += "&gt;"; break;
        case '"': safe += "&quot;"; break;
        default: safe += c;
        }
    }
    return safe;
}

// At most so many bytes, and no character cut.
std::string shortened(const std::string &text, std::size_t bytes_max) {
    if (text.size() <= bytes_max)
        return text;
    std::size_t end = bytes_max < 3 ? 0 : bytes_max - 2;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
        end--;
    return end == 0 ? "" : text.substr(0, end) + "..";
}

// A shade by the name, so that one function has one colour everywhere.
std::string colour(const stack_level &level) {
    unsigned hash = 2166136261U;
    for (char c : level.text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    unsigned shade = hash % 40;
    switch (level.is) {
    case stack_level::kind::program: return "#d8d8d8";
    case stack_level::kind::call: return fmt::format("hsl({}, 62%, {}%)", 208 + shade % 16, 68 + shade / 4);
    case stack_level::kind::lock: return fmt::format("hsl({}, 85%, {}%)", 38 + shade % 10, 60 + shade / 6);
    case stack_level::kind::holder: return fmt::format("hsl({}, 70%, {}%)", 4 + shade % 14, 68 + shade / 5);
    }
    return "#ffffff";
}

class drawing {
public:
    explicit drawing(const node &root) : all_ns_(std::max(static_cast<double>(root.waited_ns), 1.0)) {
        height_ = head + foot + row_height * static_cast<double>(root.depth());
        draw(root, 0, 0);
    }

    double height() const { return height_; }
    const std::string &boxes() const { return boxes_; }

private:
    void draw(const node &of, double from_ns, std::size_t depth) {
        for (const auto &[level, callee] : of.callees) {
            box(level, *callee, from_ns, depth);
            draw(*callee, from_ns, depth + 1);
            from_ns += static_cast<double>(callee->waited_ns);
        }
    }

    void box(const stack_level &level, const node &of, double from_ns, std::size_t depth) {
        double scale = (picture_width - 2 * margin) / all_ns_, wide = static_cast<double>(of.waited_ns) * scale;
        if (wide < narrowest)
            return;
        double x = margin + from_ns * scale, y = height_ - foot - row_height * static_cast<double>(depth + 1);
        std::string words = fmt::format(
            "{}: {} of waiting, {} waits, {:.1f}%", level.text, format_duration_ns(static_cast<double>(of.waited_ns)),
            format_count(static_cast<double>(of.waits)), 100 * static_cast<double>(of.waited_ns) / all_ns_);
        auto room = static_cast<std::size_t>(std::max(0.0, (wide - 6) / character));
        boxes_ += fmt::format("<g class=\"b\" data-x=\"{:.3f}\" data-w=\"{:.3f}\" data-d=\"{}\" data-n=\"{}\">"
                              "<title>{}</title><rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" "
                              "fill=\"{}\"/><text x=\"{:.2f}\" y=\"{:.1f}\">{}</text></g>\n",
                              x, wide, depth, escaped_for_xml(level.text), escaped_for_xml(words), x, y,
                              std::max(wide - 0.5, 0.1), row_height - 1, colour(level), x + 3, y + row_height - 5.5,
                              escaped_for_xml(shortened(level.text, room)));
    }

    double all_ns_, height_ = 0;
    std::string boxes_;
};

constexpr const char *svg_style = R"(<style>
text { font: 11px ui-monospace, "DejaVu Sans Mono", Menlo, monospace; fill: #1b1b1b; pointer-events: none; }
.b { cursor: pointer; } .b:hover rect { stroke: #000; stroke-width: 1; }
.b.off { opacity: 0.35; } .b.found rect { fill: #c03ad0; }
#title { font-size: 16px; font-weight: 600; } #reset, #search { cursor: pointer; pointer-events: auto; fill: #2458a8; }
</style>
)";

// Click: as wide as all; the search: what contains a text.
constexpr const char *svg_script = R"(<script><![CDATA[
(function () {
  var all = Array.from(document.querySelectorAll('.b')), left = %MARGIN%, room = %ROOM%;
  var info = document.getElementById('info'), found = document.getElementById('found');
  function fit(g) {
    var t = g.querySelector('text'), w = parseFloat(g.querySelector('rect').getAttribute('width')), n = g.dataset.n;
    var most = Math.max(0, Math.floor((w - 6) / %CHARACTER%));
    t.textContent = n.length <= most ? n : most < 3 ? '' : n.slice(0, most - 2) + '..';
  }
  function place(g, x, w, shown) {
    g.style.display = shown ? '' : 'none';
    g.querySelector('rect').setAttribute('x', x);
    g.querySelector('rect').setAttribute('width', Math.max(w - 0.5, 0.1));
    g.querySelector('text').setAttribute('x', x + 3);
    fit(g);
  }
  function zoom(to) {
    var x0 = to ? +to.dataset.x : left, w0 = to ? +to.dataset.w : room, d0 = to ? +to.dataset.d : -1, e = 1e-3;
    all.forEach(function (g) {
      var x = +g.dataset.x, w = +g.dataset.w, below = +g.dataset.d < d0;
      var around = below && x <= x0 + e && x + w >= x0 + w0 - e, inside = x >= x0 - e && x + w <= x0 + w0 + e;
      g.classList.toggle('off', around);
      if (around) place(g, left, room, true);
      else place(g, left + (x - x0) * room / w0, w * room / w0, inside && !below);
    });
    document.getElementById('reset').style.display = to ? '' : 'none';
  }
  all.forEach(function (g) {
    g.addEventListener('click', function () { zoom(g); });
    g.addEventListener('mouseover', function () { info.textContent = g.querySelector('title').textContent; });
    g.addEventListener('mouseout', function () { info.textContent = ''; });
  });
  document.getElementById('reset').addEventListener('click', function () { zoom(null); });
  document.getElementById('search').addEventListener('click', function () {
    var text = prompt('Show what contains:') || '', spans = [];
    all.forEach(function (g) {
      var is = text !== '' && g.dataset.n.toLowerCase().indexOf(text.toLowerCase()) >= 0;
      g.classList.toggle('found', is);
      if (is) spans.push([+g.dataset.x, +g.dataset.x + +g.dataset.w]);
    });
    var sum = 0, end = -1;
    spans.sort(function (a, b) { return a[0] - b[0]; }).forEach(function (s) {
      if (s[1] > end) { sum += s[1] - Math.max(s[0], end); end = s[1]; }
    });
    found.textContent = text === '' ? '' : "'" + text + "': " + (100 * sum / room).toFixed(1) + '%';
  });
})();
]]></script>
)";

std::string with_numbers(std::string text) {
    for (const auto &[name, value] : {std::pair{"%MARGIN%", margin}, std::pair{"%ROOM%", picture_width - 2 * margin},
                                      std::pair{"%CHARACTER%", character}}) {
        for (std::size_t at; (at = text.find(name)) != std::string::npos;)
            text.replace(at, std::string_view(name).size(), fmt::format("{:g}", value));
    }
    return text;
}

std::string legend(double x, double y) {
    std::string text;
    for (const auto &[level, words] : {std::pair{stack_level::kind::call, "calls of waiting threads"},
                                       std::pair{stack_level::kind::lock, "the lock"},
                                       std::pair{stack_level::kind::holder, "its holder, which woke them"}}) {
        text += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"11\" height=\"11\" fill=\"{}\"/>"
                            "<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
                            x, y - 10, colour({level, ""}), x + 15, y, words);
        x += 15 + character * static_cast<double>(std::string_view(words).size()) + 20;
    }
    return text;
}

} // namespace

std::string flame_graph(const std::vector<waiting_stack> &stacks, const std::string &title) {
    node root;
    for (const waiting_stack &each : stacks)
        add_to(root, each);
    drawing drawn(root);
    std::string text = fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
                                   "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"monospace\">\n{2}"
                                   "<rect width=\"100%\" height=\"100%\" fill=\"#fdfdfb\"/>\n"
                                   "<text id=\"title\" x=\"{3:.0f}\" y=\"24\">{4}</text>\n",
                                   picture_width, drawn.height(), svg_style, margin, escaped_for_xml(title));
    text += legend(margin, 46);
    text += fmt::format("<text id=\"reset\" x=\"{:.0f}\" y=\"24\" style=\"display:none\">whole picture</text>\n"
                        "<text id=\"search\" x=\"{:.0f}\" y=\"24\">search</text>\n"
                        "<text id=\"found\" x=\"{:.0f}\" y=\"46\"></text>\n",
                        picture_width - 210, picture_width - 80, picture_width - 210);
    text += drawn.boxes();
    text += fmt::format("<text id=\"info\" x=\"{:.0f}\" y=\"{:.0f}\"></text>\n", margin, drawn.height() - 12);
    return text + with_numbers(svg_script) + "</svg>\n";
}

} // namespace holdfast::cli::report
