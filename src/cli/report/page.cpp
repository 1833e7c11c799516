// SPDX-License-Identifier: MIT OR Apache-2.0
// Mustache: the page's text stands in page.html as it is read, and every value that is put into it is escaped.
#include "cli/report/page.hpp"

#include <fmt/core.h>
#include <kainjow/mustache.hpp>
#include <utility>

#include "cli/report/base64.hpp"
#include "cli/report/page_template.hpp"

namespace holdfast::cli::report {
namespace {

using kainjow::mustache::data;

const char *class_of(verdict is) {
    switch (is) {
    case verdict::met: return "met";
    case verdict::missed: return "missed";
    case verdict::none: break;
    }
    return "";
}

// What colour says is said in words too.
data word_for(verdict is) {
    return is == verdict::none ? data(false) : data(class_of(is));
}

data row_data(const std::vector<table_cell> &row) {
    data cells{data::type::list};
    for (std::size_t i = 1; i < row.size(); i++) {
        data one;
        one.set("text", row[i].text);
        one.set("class", class_of(row[i].is));
        one.set("verdict", word_for(row[i].is));
        cells << one;
    }
    data made;
    made.set("name", row.empty() ? "" : row.front().text);
    made.set("cells", cells);
    return made;
}

data table_data(const figure_table &table) {
    data header{data::type::list}, rows{data::type::list};
    for (const auto &text : table.header)
        header << data("text", text);
    for (const auto &row : table.rows)
        rows << row_data(row);
    data made;
    made.set("header", header);
    made.set("rows", rows);
    return made;
}

data figure_data(const figure &one, const std::map<std::string, std::string> &pictures) {
    data made = table_data(one.table);
    made.set("name", one.name);
    made.set("title", one.title);
    made.set("sentence", one.sentence);
    auto picture = pictures.find(one.name);
    if (picture != pictures.end())
        made.set("picture", data("base64", base64(picture->second)));
    return made;
}

data section_data(const section &one, const std::map<std::string, std::string> &pictures) {
    data figures{data::type::list};
    for (const auto &each : one.figures)
        figures << figure_data(each, pictures);
    data made;
    made.set("name", one.name);
    made.set("title", one.title);
    made.set("sentence", one.sentence);
    made.set("figures", figures);
    return made;
}

std::string text_in(const json &about, const char *name) {
    return about.contains(name) && about.at(name).is_string() ? about.at(name).get<std::string>() : "unknown";
}

data source_data(const source &one) {
    data made;
    made.set("path", one.path);
    for (const char *name : {"machine", "kernel", "glibc", "holdfast", "compiler", "monitor", "date", "command"})
        made.set(name, text_in(one.about, name));
    made.set("cpus", one.about.contains("cpus") ? one.about.at("cpus").dump() : "unknown");
    made.set("resumed",
             one.about.contains("resumed") ? fmt::format("; gone on with {} times", one.about["resumed"].size()) : "");
    made.set("records", std::to_string(one.records));
    made.set("not_ok", std::to_string(one.not_ok));
    made.set("version", std::to_string(one.version));
    return made;
}

} // namespace

std::string page(const std::vector<source> &sources, const std::vector<section> &sections,
                 const std::map<std::string, std::string> &pictures) {
    data all, source_list{data::type::list}, section_list{data::type::list};
    for (const auto &one : sources)
        source_list << source_data(one);
    for (const auto &one : sections)
        section_list << section_data(one, pictures);
    all.set("sources", source_list);
    all.set("sections", section_list);
    kainjow::mustache::mustache made(page_template);
    return made.render(all);
}

} // namespace holdfast::cli::report
